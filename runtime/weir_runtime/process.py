"""One fragment's process: from its spec to its end."""

from __future__ import annotations

import signal
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from weir_placement.model.fragment import FragmentError, FragmentSpec

from weir_runtime import secrets
from weir_runtime.back_pressure import BackPressure
from weir_runtime.begun import Begun, begun, note_begun
from weir_runtime.change import Share
from weir_runtime.checkpoint import Checkpoint
from weir_runtime.clock_steps import ClockSteps
from weir_runtime.cpu import Cpu
from weir_runtime.dropped import DroppedRows
from weir_runtime.endings import Left, Stopped
from weir_runtime.exchanges import writer_of
from weir_runtime.exchanges.ports import ExchangeWriter
from weir_runtime.executors import Executors, open_session
from weir_runtime.faults import reach
from weir_runtime.inputs import OpenInput, open_missing
from weir_runtime.last_words import error_of
from weir_runtime.lease import FragmentLease
from weir_runtime.links import watch, whereabouts
from weir_runtime.logs.wall_clock import check_clock
from weir_runtime.metrics import Metrics, stateful
from weir_runtime.mounts import STALE
from weir_runtime.names import PLAUSIBLE
from weir_runtime.pause import LeasePause
from weir_runtime.plan import SparkPlan, build_plan, checkpoint_name
from weir_runtime.progress import Progress
from weir_runtime.publish import BatchSink, Fenced
from weir_runtime.reports import Reports
from weir_runtime.results import Results
from weir_runtime.scratch import RESULTS, between, clear_earlier, scratch
from weir_runtime.side_log import take_folders
from weir_runtime.sinks import make_sink
from weir_runtime.source import UNBEGUN, Control, WeirSource
from weir_runtime.source_waits import SourceWaits
from weir_runtime.standby import warm_up
from weir_runtime.status import ProcessStatus, serve
from weir_runtime.tenure import Tenure
from weir_runtime.unreachable import Patient

LOOK = 0.02
"""[s] between two looks at the query while something is awaited."""

LEASE_LOOK = 0.1
"""[s] between two looks at the lease."""

REPORT = 0.5
"""[s] between two looks at what was committed."""

PATIENCE = 45.0
"""[s] for the batch under way when the process must stop; less than the grace time of a pod."""

EXIT_FENCED = 75
EXIT_TERMINATED = 128 + signal.SIGTERM
"""Stopped before it was finished or had handed over: whoever keeps processes alive starts it again."""


class FragmentProcess:
    """Runs a spec. `lease` says whether this process may publish."""

    look = LOOK

    def __init__(
        self, spec: FragmentSpec, lease: FragmentLease, tenure: Tenure | None = None, cpu: Cpu | None = None
    ) -> None:
        self.spec = spec
        self.tenure = tenure or Tenure(lease, spec.epoch, spec.lease_seconds)
        self.metrics = Metrics(spec, cpu)
        self.status = ProcessStatus(spec.state, spec.name, spec.epoch)
        self.terminate = threading.Event()
        self.control = Control(tempfile.mkdtemp(prefix="control-", dir=scratch()))
        self._final_batch: int | None = None
        self._numbering = ""  # of the checkpoint that it began with
        self._port = 0
        self._batch_size = 0  # [bytes] of what the last batch gave
        self._dropped = DroppedRows(stateful(spec))
        self._share: Share | None = None  # of a fragment that delivers
        self._executors: Executors | None = None
        self._sink: BatchSink | None = None
        self._pause = LeasePause(self.tenure, self.control, self.status, self.metrics)
        self._patient = Patient(self.status, self.metrics, self._leave_unasked)

    def run(self) -> int:
        """The process's exit code (docs/runtime.md)."""
        signal.signal(signal.SIGTERM, lambda *_: self.terminate.set())
        secrets.watch(self._rotated, self.terminate)
        self._port = serve(self.status, self.metrics.registry, self.spec.port)
        self.status.say(port=self._port)
        return self.live()

    def live(self, spark: SparkSession | None = None) -> int:
        """As `execute`, with what came of it in the state file. Raises what makes it fail."""
        try:
            return self.execute(spark)
        except Stopped:
            self.status.say(phase="stopped")
            return EXIT_TERMINATED
        except Left:
            self.status.say(phase="released")
            return 0
        except Fenced as error:
            self.status.say(phase="fenced", error=str(error))
            return EXIT_FENCED
        except FragmentError as error:
            self.status.say(phase="failed", error=str(error), refused=True)
            raise
        except Exception as error:
            self.status.say(phase="failed", error=f"{type(error).__name__}: {error}")
            raise
        finally:
            if self._executors:
                self._executors.close()

    def execute(self, spark: SparkSession | None = None) -> int:
        """Runs to the end, in a session of its own unless given one; the exit code.

        Raises Fenced, FragmentError, Stopped and Left (before it ran), RuntimeError (the query failed).
        """
        try:
            return self._execute(spark)
        finally:
            self.tenure.stop()

    def _execute(self, spark: SparkSession | None) -> int:
        spec = self.spec
        check_clock()
        take_folders(spec)
        exchange = writer_of(spec) if spec.output.kind == "exchange" else None
        if exchange and self._patient.ask(exchange.ended):
            self.status.say(phase="finished")
            return 0
        if spark is None:
            spark, self._executors = open_session(spec)
        spark.dataSource.register(WeirSource)
        self._answer_early()
        inputs = self._open_inputs()
        name = checkpoint_name(spec, inputs)
        plan = build_plan(spark, spec, inputs, self.control)
        self._sink = sink = exchange or self._patient.ask(lambda: make_sink(spec, plan.columns, name))
        if exchange:
            self._patient.ask(lambda: exchange.describe(plan.description))
        self.status.say(hash=name)
        checkpoint = Checkpoint(Path(spec.checkpoint) / name)
        if spec.standby:
            self._warm_up(spark, inputs)
            at_gate = self._start_to_gate(plan, sink, checkpoint)
            self.status.say(phase="standby-ready")
            self._begin(plan, sink, checkpoint)
            query = at_gate or self._start(plan, sink, checkpoint)
        else:
            self._begin(plan, sink, checkpoint)
            query = self._start(plan, sink, checkpoint)
        self.control.set("go")
        self.status.say(phase="running")
        if exchange and self._port:
            exchange.announce(whereabouts(self._port))
        watch(spec.inputs, self.metrics.link_seconds, self.terminate)
        reports = Reports(inputs, Progress(query), checkpoint, self.metrics)
        return self._watch(query, reports, exchange)

    def _warm_up(self, spark: SparkSession, inputs: list[OpenInput]) -> None:
        warm_up(spark, self.spec, inputs)

    def _start_to_gate(
        self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint
    ) -> StreamingQuery | None:
        """A query whose readers wait until the lease is held; None where it is to start then."""
        query = self._start(plan, sink, checkpoint)
        self._await(lambda: self.control.is_set("at-gate") or not query.isActive)
        return query

    def _rotated(self) -> None:
        """Ends as on SIGTERM: what starts it again gives it the new values, also as variables."""
        print("a secret was rotated: restarting with the new one", file=sys.stderr)
        self.terminate.set()

    def _leave_unasked(self) -> None:
        """Of a process that waits for servers: raises when it must not go on. Nothing of it is under way."""
        if self.terminate.is_set():
            raise Stopped
        self.tenure.check()
        if self.tenure.held and self.tenure.handed_over():
            self.tenure.release()
            raise Left
        self._answer_early()

    def _answer_early(self) -> None:
        """What a cut asks is answered before inputs and sink are reached, which may refuse this plan for
        good: by what earlier lives have left. Without a note it is not known which checkpoint is theirs."""
        delivers = self.spec.output.kind != "exchange"
        if self._share is None and delivers and self.tenure.is_asked() and (left := begun(self.spec)):
            checkpoint = Checkpoint(Path(self.spec.checkpoint) / left.checkpoint)
            self._take(checkpoint)
            checkpoint.numbering()  # raises where nobody can say what is in it
            self._share = Share.of(self.spec.output.after, checkpoint, left.clock)
        if self._share and self.tenure.held:
            self.tenure.answer(self._share)

    def _await(self, condition: Any) -> None:
        while not condition():
            if self.terminate.is_set():
                raise Stopped
            time.sleep(LOOK)

    def _open_inputs(self) -> list[OpenInput]:
        opened: dict[str, OpenInput] = {}
        while not open_missing(self.spec, opened, self._patient.ask):
            self._leave_unasked()
            time.sleep(LOOK)
        return [opened[item.name] for item in self.spec.inputs]

    def _acquire(self) -> None:
        if self.tenure.held:
            return
        reach("before-acquire")
        self._await(self.tenure.acquire)
        if self._executors:
            self._executors.end_others(wait=not self.tenure.left_in_order)
        reach("after-acquire")

    def _begin(self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint) -> None:
        """From here on this process is the one that publishes. What a cut asks is answered first."""
        self._take(checkpoint)
        planned, self._numbering = checkpoint.planned(), checkpoint.numbering()
        if self.spec.output.kind != "exchange":
            self._share = Share.of(self.spec.output.after, checkpoint, plan.clock)
        if sink.knows_cuts or not self.spec.output.after:
            self.tenure.agree(self._share, self._leave_unasked)
        if not checkpoint.has_own_ids():
            sink.keep_plain_ids()
        self._patient.ask(lambda: sink.take_over(self._numbering, planned))
        self.tenure.agree(self._share, self._leave_unasked)
        self.control.end_at(self.tenure.cut(), plan.ahead)
        if self._share:
            note_begun(self.spec, Begun(checkpoint.folder.name, plan.back))

    def _take(self, checkpoint: Checkpoint) -> None:
        """The lease, and what its holder alone may do with a checkpoint."""
        self._acquire()
        self._await(partial(checkpoint.shows_all, time.monotonic() + STALE))
        checkpoint.drop_unfinished()
        clear_earlier(self.spec)

    def _start(self, plan: SparkPlan, sink: BatchSink, checkpoint: Checkpoint) -> StreamingQuery:
        results = Results(between(self.spec, RESULTS))

        def publish(frame: DataFrame, batch: int) -> None:
            """The plan is run in full, exactly once, also when nothing would be published."""
            self.status.begin(batch, sink.allowance)
            reach("before-plan")
            table = results.collect(frame)
            reach("after-plan")
            self._dropped.check(batch)
            clock = plan.clock(checkpoint.watermark_ms(batch))
            if self._share:
                table = self._share.restrict(table)
            checkpoint.sync(batch, self._numbering)
            size = sink.write(table, batch, clock, self._fence)
            self.metrics.balance.write(table.num_rows)
            self._batch_size = table.nbytes
            if self._share:
                self._share.published(clock)
            self.metrics.bytes.labels(**self.metrics.plain).inc(size)
            self.metrics.published.labels(**self.metrics.plain).set_to_current_time()
            if clock >= PLAUSIBLE:
                self._final_batch = batch
            reach("before-commit")

        query = (
            plan.frame.writeStream.outputMode("append")
            .option("checkpointLocation", str(checkpoint.folder))
            .trigger(processingTime=f"{self.spec.trigger_ms} milliseconds")
            .foreachBatch(publish)
            .start()
        )
        self._dropped.watch(query)
        return query

    def _fence(self) -> None:
        """Called immediately before a batch is published."""
        if self._share:
            self._share.note()
        self.tenure.fence()

    def _watch(self, query: StreamingQuery, reports: Reports, exchange: ExchangeWriter | None) -> int:
        """Until it ends, by itself or because it must."""
        last_look = last_report = 0.0
        clock_steps = ClockSteps()
        waits = SourceWaits(
            [item.spec.name for item in reports.inputs], self.control, self.status, self.metrics
        )
        pressure = BackPressure(exchange, self.control, self.status, self.metrics) if exchange else None
        while True:
            now = time.monotonic()
            self.status.beat()
            self._cut_off()
            if not query.isActive:
                return self._failed(query)
            if now - last_look >= LEASE_LOOK:
                last_look = now
                if self._must_go():
                    return self._leave(query, reports.inputs)
                if self._share:
                    self.tenure.answer(self._share)
            if pressure:
                pressure.look()
            self._pause.over()
            if self.tenure.lost:
                query.stop()
                self.tenure.check()
            if back := clock_steps.set_back():
                self.tenure.stop()  # a batch that waits for the lease would not end
                query.stop()
                raise RuntimeError(
                    f"the clock was set back by {back:.0f} s, for which Spark would wait: restarting"
                )
            if self._final_batch is not None and reports.committed() >= self._final_batch:
                reports.await_count(self._final_batch, query)
                query.stop()
                self._report(reports, exchange)
                return self._finish(exchange, self._final_batch)
            if now - last_report >= REPORT:
                last_report = now
                self._report(reports, exchange)
                waits.look()
            time.sleep(self.look)

    def _cut_off(self) -> None:
        """A batch that does not end makes /healthz say so: whoever keeps processes alive starts it again."""

    def _must_go(self) -> bool:
        return self.terminate.is_set() or self.tenure.handed_over()

    def _leave(self, query: StreamingQuery, inputs: list[OpenInput]) -> int:
        """Admits nothing more; when every reader is drained, every admitted batch is committed.

        A batch that cannot end (its broker is away) is left behind after `PATIENCE`: the lease is not
        released then, but expires, and whoever follows runs the batch again.
        """
        self.status.say(phase="draining")
        self.control.set("drain")
        flags = [f"drained-{item.spec.name}" for item in inputs]
        deadline = time.monotonic() + PATIENCE
        while query.isActive and not all(self.control.is_set(flag) for flag in flags):
            if time.monotonic() > deadline:
                self.status.say(phase="stopped", error="a batch did not end")
                return EXIT_TERMINATED
            time.sleep(LOOK / 2)
        if not query.isActive and not self.control.is_set(UNBEGUN):
            return self._failed(query)
        self._quiet(query)
        reach("before-release")
        self.tenure.release()
        reach("after-release")
        if self.terminate.is_set():
            self.status.say(phase="stopped")
            return EXIT_TERMINATED
        self.status.say(phase="released")
        return 0

    def _quiet(self, query: StreamingQuery) -> None:
        """Nothing of a drained query touches its checkpoint any more. A process ends with it."""

    def _finish(self, exchange: ExchangeWriter | None, batch: int) -> int:
        reach("before-end")
        if exchange:
            self._await(self._pause.over)
            exchange.end(batch + 1, self.tenure.fence)
        reach("after-end")
        self.tenure.release()
        self.status.say(phase="finished", batch=batch, balance=self.metrics.balance.stored(batch + 1))
        return 0

    def _failed(self, query: StreamingQuery) -> int:
        error = query.exception()
        self.tenure.check()
        raise error_of(error, self._dropped.error)

    def _report(self, reports: Reports, exchange: ExchangeWriter | None) -> None:
        """Says what was committed since the last call; what nobody needs any more is deleted."""
        batch = reports.take()
        if batch is None:
            return
        self.status.say(batch=batch)
        if exchange:
            exchange.delete_consumed()
