"""The disruption budgets go before the operator does, and no replica makes them again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from weir_operator.kube.api import Api
from weir_operator.kube.leader import DURATION, Leader
from weir_operator.kube.settings import OperatorSettings
from weir_operator.kube.uninstall import LEADERLESS, lift_budgets

from tests.kube.manual_clock import ManualClock
from tests.kube.test_leader import OneLease


class Budgets(OneLease):
    """The leader's Lease and two budgets."""

    def __init__(self) -> None:
        super().__init__()
        self.budgets = {("a", "f1"), ("b", "f2")}

    def list(self, kind: str, namespace: str, selector: str) -> Iterator[dict[str, Any]]:
        assert (kind, selector) == ("PodDisruptionBudget", "app.kubernetes.io/managed-by=weir")
        yield from (
            {"metadata": {"namespace": ns, "name": name}}
            for ns, name in sorted(self.budgets)
            if namespace in ("", ns)
        )

    def delete(self, kind: str, namespace: str, name: str) -> bool:
        self.budgets.remove((namespace, name))
        return True


def test_nobody_leads_when_the_budgets_go() -> None:
    api, clock = Budgets(), ManualClock(1000.0)
    replica = Leader(cast(Api, api), "weir", "a", clock)
    assert replica.campaign()

    def wait(seconds: float) -> None:
        assert seconds >= DURATION
        assert len(api.budgets) == 2
        clock.now += 5
        assert not replica.campaign()
        clock.now += seconds

    lift_budgets(cast(Api, api), OperatorSettings(namespace="weir", identity="job"), lambda _: None, wait)
    assert api.budgets == set()
    assert not replica.campaign()
    clock.now += LEADERLESS + 1
    assert replica.campaign()  # whoever was not taken away after all goes on


def test_only_budgets_of_watched_namespaces() -> None:
    api = Budgets()
    settings = OperatorSettings(namespace="weir", identity="job", watch_namespaces=("b",))
    lift_budgets(cast(Api, api), settings, lambda _: None, lambda _: None)
    assert api.budgets == {("a", "f1")}
