"""A move is given up when the lease was handed over already: the fragment goes on in a newer epoch."""

from __future__ import annotations

import pytest
from weir_operator.controller.decision import HandOver, Start
from weir_operator.controller.moves import DesiredFragment, next_step
from weir_operator.controller.observed_state import Lease, Process, ProcessState
from weir_placement.fragments import Layout
from weir_placement.model.fragment import FragmentSpec, Output

LAYOUT = Layout("/run")
SPEC = FragmentSpec("f", "default", "q", "n1", 1, (), (), Output("noop"), "/c", "l", "/s")
FRAGMENT = DesiredFragment(SPEC, "b", "default/q", "default")
LEASE = Lease("f", 1, "host:1:1", 0.0, 10.0, handover=2)


@pytest.mark.parametrize("state", ["failed", "starting"])
def test_an_epoch_that_handed_over_is_not_started_again(state: ProcessState) -> None:
    """Nobody but the successor may take the lease; the epoch before waited for it for ever."""
    owner = Process("f", 1, "n1", "n1", state, 0.0, "b")
    successor = Process("f", 2, "n2", "n2", "failed", 0.0, "b")
    step = next_step(FRAGMENT, [owner, successor], LEASE, LAYOUT, waits=False)
    (start,) = (action for action in step.actions if isinstance(action, Start))
    assert (start.spec.epoch, start.spec.node) == (3, "n1")
    step = next_step(FRAGMENT, [owner], LEASE, LAYOUT)
    assert [a.spec.epoch for a in step.actions if isinstance(a, Start)] == [3], (
        "when the successor is gone too"
    )
    ready = Process("f", 3, "n1", "n1", "standby", 1.0, "b")
    step = next_step(FRAGMENT, [owner, ready], LEASE, LAYOUT, waits=False)
    assert HandOver("f", 3) in step.actions


@pytest.mark.parametrize("state", ["pending", "starting"])
def test_a_successor_of_a_build_that_was_replaced_is_not_waited_for(state: ProcessState) -> None:
    """Nobody works, and its image may be one that cannot be pulled: the one of the present build goes on."""
    stuck = Process("f", 2, "n1", "n1", state, 0.0, "a build with a mistyped image")
    for owner in ([], [Process("f", 1, "n1", "n1", "failed", 0.0, "b0")]):
        step = next_step(FRAGMENT, [*owner, stuck], LEASE, LAYOUT)
        assert [a.spec.epoch for a in step.actions if isinstance(a, Start)] == [3]
        fresh = Process("f", 3, "n1", "n1", "starting", 1.0, "b")
        step = next_step(FRAGMENT, [*owner, stuck, fresh], LEASE, LAYOUT)
        assert HandOver("f", 3) in step.actions


def test_a_successor_of_another_build_is_waited_for_as_long_as_the_owner_works() -> None:
    owner = Process("f", 1, "n1", "n1", "running", 0.0, "b0")
    successor = Process("f", 2, "n1", "n1", "starting", 0.0, "b1")
    step = next_step(FRAGMENT, [owner, successor], LEASE, LAYOUT)
    assert (step.phase, step.actions, step.successor) == ("moving", (), successor)
