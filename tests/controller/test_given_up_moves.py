"""A move is given up when the lease was handed over already: the fragment goes on in a newer epoch."""

from __future__ import annotations

import pytest
from weir_operator.controller.decision import HandOver, Start
from weir_operator.controller.moves import DesiredFragment, next_step
from weir_operator.controller.snapshot import Lease, Process, ProcessState
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
