"""`weir run`: the same loop as in the cluster over this machine's processes and files."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from weir_placement.fragments import Knobs, Layout

from weir_operator.controller.clock_watch import ClockWatch
from weir_operator.controller.desired_state_builder import DesiredStateBuilder
from weir_operator.controller.loop import Loop
from weir_operator.controller.observed_state import Manifest
from weir_operator.controller.settings import Settings
from weir_operator.local.calibration import Calibration
from weir_operator.local.cluster import LocalCluster
from weir_operator.local.files import ManifestFiles, resolve
from weir_operator.local.scrape import Scrape
from weir_operator.local.sweep import Sweep
from weir_operator.manifests.finding import Finding
from weir_operator.manifests.network import Read, reader
from weir_operator.manifests.objects import Objects
from weir_operator.manifests.site import HERE


@dataclass(frozen=True)
class Options:
    """Options of `weir run`; `root` is the folder of all its state, relative URIs are below `base`."""

    paths: tuple[str, ...]
    root: Path
    base: Path
    knobs: Knobs
    calibration: Path | None = None
    period: float = 1.0  # [s] between two rounds
    standby: bool = True
    trial: bool = False  # what would happen: nothing is remembered of the manifests


class Machine:
    """Files, processes, metrics and the loop over them. After a kill a new one continues where it was."""

    def __init__(self, options: Options, tell: Callable[[list[Finding]], None]) -> None:
        self.options = options
        root = options.root.resolve()
        layout = Layout(str(root))
        self.files = ManifestFiles(list(options.paths), root, tell, trial=options.trial)
        self.cluster = LocalCluster(root, layout, self.objects)
        calibration = Calibration.load(options.calibration)
        desired_state = DesiredStateBuilder(
            self._matrices, options.knobs, calibration.query, calibration.overheads, site=HERE
        )
        self.loop = Loop(
            self.cluster,
            Scrape(self.cluster.processes),
            Sweep(root),
            desired_state,
            Settings(layout, period=options.period, status_period=options.period, standby=options.standby),
            time.time,
            clock_watch=ClockWatch(time.monotonic),
        )

    def objects(self) -> tuple[Manifest, ...]:
        return tuple(resolve(o, self.options.base.resolve()) for o in self.files.objects())

    def _matrices(self, objects: Objects) -> Mapping[str, Read]:
        """Readers of matrices, which are in files beside that of their topology."""
        kind = "NetworkTopology//"
        return {
            k.removeprefix(kind): reader(f, objects.config_maps)
            for k, f in self.files.places.items()
            if k.startswith(kind)
        }

    def stop(self) -> None:
        """Ends all fragments gracefully; their state is kept for the next run."""
        self.cluster.processes.stop_all()
