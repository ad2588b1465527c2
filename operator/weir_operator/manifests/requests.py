"""What the pods of a fragment request, and what a ResourceQuota counts of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from weir_placement.fragments import Knobs

JVM_OVERHEAD = 700 * 2**20  # [bytes] in addition to the heap: metaspace, threads, RocksDB, Python workers
LEAST_CPU = 0.1  # [cores]
COUNTED = ("cpu", "memory", "ephemeral-storage")
"""Resources that a quota may also name without `requests.`"""

Amounts = Mapping[str, float]


def share(cpu: float | None, memory: float | None, executors: int, heap_mb: int) -> tuple[float, int]:
    """[cores] and [bytes] of each pod of a fragment, the driver and its executors, as they are requested:
    thousandths of a core, whole bytes. The query's amounts are for the whole fragment."""
    pods = 1 + executors
    cores = LEAST_CPU if cpu is None else cpu / pods
    least = heap_mb * 2**20 + JVM_OVERHEAD
    return max(1, round(cores * 1000)) / 1000, int(max(least, (memory or 0.0) / pods))


def fragment_memory(memory: float | None, executors: int) -> int:
    """[bytes] That the pods of a fragment request together, and that its node must have: at least, for state
    adds to it."""
    return (1 + executors) * share(None, memory, executors, Knobs().heap_mb)[1]


def cores_of(cpu: float, least: int) -> int:
    """The number of tasks that a pod works on at the same time: one for each whole core."""
    return max(least, int(cpu))


def heap_of(memory: int, least_mb: int) -> int:
    """[MiB] of a pod's memory [bytes] that its JVM may use as heap: `least_mb` and half of what is left. The
    other half is for Arrow and Python, which hold the same rows."""
    return least_mb + max(0, memory - least_mb * 2**20 - JVM_OVERHEAD) // 2**21


@dataclass(frozen=True)
class PodAmounts:
    """Requests and limits of one pod, which has one container, by resource."""

    requests: Amounts
    limits: Amounts

    def counted(self) -> dict[str, float]:
        """What a ResourceQuota counts of the pod."""
        amounts = {"pods": 1.0, "count/pods": 1.0}
        for resource, amount in self.requests.items():
            amounts[f"requests.{resource}"] = amount
            if resource in COUNTED:
                amounts[resource] = amount
        return amounts | {f"limits.{resource}": amount for resource, amount in self.limits.items()}


def pod_amounts(
    cpu: float | None, memory: float | None, executors: int, heap_mb: int = Knobs().heap_mb
) -> PodAmounts:
    """The amounts of a fragment's pod, before any LimitRange: memory is limited, CPU is not."""
    cores, bytes_ = share(cpu, memory, executors, heap_mb)
    return PodAmounts({"cpu": cores, "memory": float(bytes_)}, {"memory": float(bytes_)})
