"""An attempt at a fragment inside of a host: its own session, stop, status and lease, in a common JVM."""

from __future__ import annotations

import shutil
import threading
import time
from http.server import ThreadingHTTPServer

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from weir_placement.model.fragment import FragmentSpec

from weir_runtime import secrets
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.cpu import PartOfCpu, SharedCpu
from weir_runtime.exchanges.ports import ExchangeWriter
from weir_runtime.hosted_tenure import HostedTenure, SwappedLease
from weir_runtime.incarnations import Incarnations
from weir_runtime.inputs import OpenInput
from weir_runtime.logs.log import BATCH_BYTES
from weir_runtime.plan import SparkPlan
from weir_runtime.process import FragmentProcess
from weir_runtime.publish import BatchSink
from weir_runtime.reports import Reports
from weir_runtime.scratch import clear_own
from weir_runtime.session import Sessions
from weir_runtime.status import open_server

FIRST = 10.0
"""[s] at most for which a fragment that starts keeps the next one from starting."""

MB = 2**20

RETRY = 1.0
"""[s] between two tries to give a lease back."""


class QueryStuck(RuntimeError):
    """A query does not stop, so nobody else may touch its checkpoint while its JVM lives."""


class Turn:
    """Those who start do so one after the other: compiling a plan takes a core for seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: object = None
        self._until = 0.0  # [s, monotonic]

    def take(self, who: object, stop: threading.Event) -> None:
        """Returns when it is this one's, or `stop` is set."""
        while not stop.is_set():
            with self._lock:
                if self._owner in (None, who) or time.monotonic() > self._until:
                    self._owner, self._until = who, time.monotonic() + FIRST
                    return
            stop.wait(0.05)

    def give(self, who: object) -> None:
        """It is the next one's; nothing happens when it is already."""
        with self._lock:
            if self._owner is who:
                self._owner = None


class HostedFragment(FragmentProcess):
    """Runs a spec in a session of its own, and leaves nothing behind but what a killed process leaves too.

    Args:
        longest: [s] after which a batch is cut off.
    """

    look = 0.1

    def __init__(
        self,
        spec: FragmentSpec,
        lease: SwappedLease,
        host: Incarnations,
        cpu: SharedCpu,
        turn: Turn,
        longest: float,
    ) -> None:
        self._own_cpu = cpu.part()
        self._hold = HostedTenure(lease, spec.epoch, spec.lease_seconds, host)
        super().__init__(spec, lease, self._hold, self._own_cpu)
        self.status.longest = longest
        self._turn = turn
        self._query: StreamingQuery | None = None
        self._server: ThreadingHTTPServer | None = None

    def attempt(self, sessions: Sessions) -> int:
        """As `live`, from a thread of its own. Its lease is given back when its query has stopped, however it
        ended. Raises QueryStuck when it does not."""
        spark = sessions.take(self.spec.partitions)
        try:
            pool = f"{self.spec.name}-e{self.spec.epoch}"
            spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
            self._server = open_server(self.status, self.metrics.registry, 0)
            # The host's answers readers too.
            self._port = self.spec.port or int(self._server.server_address[1])
            self.status.say(phase="starting", port=self._port)
            secrets.watch(self._rotated, self.terminate)
            return self.live(spark)
        finally:
            self._turn.give(self)
            self._close()
            sessions.give(spark)

    def _close(self) -> None:
        self.terminate.set()  # whatever else watches for it
        self.control.set("go")  # a reader at the gate would wait for ever
        if self._query is not None:
            self._stop(self._query)
        if self._sink is not None:
            self._sink.close()
        while not self._hold.end():
            time.sleep(RETRY)
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        assert isinstance(self._own_cpu, PartOfCpu)
        self._own_cpu.host.forget(self._own_cpu)
        shutil.rmtree(self.control.folder, ignore_errors=True)
        clear_own(self.spec)

    def _stop(self, query: StreamingQuery) -> None:
        try:
            query.stop()
        except Exception as error:  # whatever Java or the way to it says
            raise QueryStuck(f"{self.spec.name}: its query does not stop: {error}") from error

    @property
    def size(self) -> int:
        """[bytes] of its state and of what its last batch gave; while nothing is known, as its first one is
        under way, what that may read."""
        unknown = self.status.under_way and self.metrics.last_batch < 0
        return BATCH_BYTES * len(self.spec.inputs) if unknown else self.metrics.state_size + self._batch_size

    @property
    def suspicion(self) -> tuple[int, bool, int]:
        """What speaks for it where memory is short, the most first: its size [MB], a batch under way, few
        batches before."""
        return round(self.size / MB), self.status.under_way, -self.metrics.last_batch

    def _cut_off(self) -> None:
        """Raises RuntimeError, which ends the attempt: the host must live on for others."""
        if hangs := self.status.hangs():
            raise RuntimeError(f"{hangs}: cut off, to be run again from the same offsets")

    def _warm_up(self, spark: SparkSession, inputs: list[OpenInput]) -> None:
        self._turn.take(self, self.terminate)
        super()._warm_up(spark, inputs)
        self._turn.give(self)

    def _start_to_gate(
        self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint
    ) -> StreamingQuery | None:
        """None: Spark runs no two queries of one application on one checkpoint, and the predecessor may be in
        this host."""
        return None

    def _start(self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint) -> StreamingQuery:
        self._turn.take(self, self.terminate)
        self._query = super()._start(plan, sink, checkpoint)
        return self._query

    def _report(self, reports: Reports, exchange: ExchangeWriter | None) -> None:
        super()._report(reports, exchange)
        if self.status.fields["batch"] >= 0:
            self._turn.give(self)

    def _quiet(self, query: StreamingQuery) -> None:
        self._stop(query)
