"""Nodes that run one operator between a child and a parent, tuple by tuple, while it moves between them.

The operator numbers what it reads: its state is the count. What the parent gets must be every number once and
in order, however far each queue and connection has come when a request arrives.
"""

from collections import deque
from random import Random

from weir_placement.adaptation.connections import ConnectionRequest
from weir_placement.adaptation.reallocation import ReallocationStep

CHILD, MOVED = ("q", "child"), ("q", "moved")


class MoveReplay:
    """The child runs on `c`, the parent on `p`, the operator on `old` and then on `new`."""

    def __init__(self, random: Random, tuples: int) -> None:
        self.random, self.left, self.sent = random, tuples, 0
        self.child_sends_to = ["old"]
        self.inputs = {"old": deque[int](), "new": deque[int]()}
        self.outputs = {"old": deque[tuple[int, int]](), "new": deque[tuple[int, int]]()}
        self.active, self.count = {"old"}, {"old": 0, "new": None}
        self.connected = {"old"}  # whose results reach the parent
        self.results: list[tuple[int, int]] = []
        self.lost = 0

    def advance(self) -> None:
        """One thing happens somewhere."""
        action = self.random.choice(["send", "process", "deliver"])
        node = self.random.choice(["old", "new"])
        if action == "send" and self.left:
            self.left -= 1
            self.sent += 1
            for target in self.child_sends_to:
                self.inputs[target].append(self.sent)
            self.lost += not self.child_sends_to
        elif action == "process" and node in self.active and self.inputs[node]:
            self.count[node] = number = (self.count[node] or 0) + 1
            self.outputs[node].append((self.inputs[node].popleft(), number))
        elif action == "deliver" and node in self.connected and self.outputs[node]:
            self.results.append(self.outputs[node].popleft())

    def carry_out(self, step: ReallocationStep, waits: bool = True) -> None:
        """The step's requests, some time before each, after what it awaits."""
        conditions = {
            "input-drained": lambda: not self.inputs["old"],
            "state-received": lambda: self.count["new"] is not None,
            "output-received": lambda: not self.outputs["old"],
        }
        for _ in range(10_000):  # what never comes is not waited for without end
            if not waits or all(conditions[name]() for name in step.awaits):
                break
            self.advance()
        switch = [r for r in step.requests if r.subject == CHILD]
        for request in step.requests:
            if request not in switch[1:]:  # the child's node switches between two of its own tuples
                for _ in range(self.random.randint(0, 5)):
                    self.advance()
            self.obey(request)

    def obey(self, request: ConnectionRequest) -> None:
        kind, receiver, subject, peer = request
        if kind == "SendData" and subject == CHILD:
            self.child_sends_to = [peer]
        elif kind == "StopSend" and subject == CHILD and peer in self.child_sends_to:
            self.child_sends_to.remove(peer)
        elif kind == "SendData":
            self.connected.add(receiver)
        elif kind == "StopSend":
            self.connected.discard(receiver)
        elif kind == "DeActivate":
            self.active.discard(receiver)
        elif kind == "SendState":
            self.count[peer] = self.count[receiver]
        elif kind == "Activate":
            self.active.add(receiver)

    def finish(self) -> None:
        """Until nothing more can happen."""
        for _ in range(100_000):
            waiting = self.left or any(self.inputs[n] for n in self.active)
            if not waiting and not any(self.outputs[n] for n in self.connected):
                return
            self.advance()
