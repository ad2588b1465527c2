"""A small, fast Spark session: one JVM started by us, that dies with this process."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from weir_runtime.scratch import clear, scratch

PUSHDOWN = "org.apache.spark.sql.catalyst.optimizer.PushDownPredicates"

STATE_STORE = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

CHECKPOINT_FILES = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.killEnabled": "false",
    "spark.authenticate": "true",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    # Every expression is total: the types of weir_placement.model.types count on it.
    "spark.sql.ansi.enabled": "false",
    # Weir has placed every filter itself. Spark would push them below the watermark node, where they
    # swallow the markers, and time would stand still.
    "spark.sql.optimizer.excludedRules": PUSHDOWN,
    "spark.sql.streaming.multipleWatermarkPolicy": "min",
    # Our readers ask for the one batch without rows that is needed (source.py).
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": STATE_STORE,
    "spark.sql.streaming.stateStore.maintenanceInterval": "30s",
    # A snapshot is copied while its batches are there: 20 of them are 4 s at a trigger of 200 ms.
    "spark.sql.streaming.minBatchesToRetain": "100",
    "spark.sql.streaming.metricsEnabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": "100",
    "spark.sql.streaming.pollingDelay": "20ms",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
    "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    "spark.sql.codegen.cache.maxEntries": "1000",
    "spark.cleaner.referenceTracking.blocking": "false",
    "spark.sql.shuffle.partitions": "1",
    # A batch is planned anew each time: nothing that only a person at a web page would see.
    "spark.sql.lightweightPlanChangeValidation": "false",
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxPlanStringLength": "100",
    "spark.ui.liveUpdate.period": "60s",
    "spark.broadcast.compress": "false",
    "spark.broadcast.checksum": "false",
    "spark.python.worker.reuse": "true",
    # Workers are forked from a process that has imported what they need.
    "spark.python.daemon.module": "weir_runtime.daemon",
    # No .crc file beside each of the many small files of a checkpoint.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    # The default manager, without Hadoop's native library, starts a `chmod` and two `readlink` processes
    # for each file of a checkpoint: 18 processes a batch of a join, most of the batch's time.
    "spark.sql.streaming.checkpointFileManagerClass": CHECKPOINT_FILES,
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
}

END_ON_OOM = ("-XX:+ExitOnOutOfMemoryError",)
"""Java's options with which a JVM without memory ends at once, instead of one thread of it or the other."""

OOM_CODES = (3, 52)
"""Exit codes of a JVM that has ended so, and of one that Spark has ended as a task had no memory left."""

CONF = "WEIR_SPARK_CONF"
"""Environment variable: a JSON object of settings that go before SETTINGS; for measurements."""

TUNING = ("-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xss4m")

JVM_OPTIONS = (
    *TUNING,
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "-Dio.netty.tryReflectionSetAccessible=true",
)


QUICK = "-XX:TieredStopAtLevel=1"
"""Java's quick compiler alone, for a fragment of one core: it starts with 20 s of CPU instead of 33, and
its rows cost a third more in the long run (docs/runtime.md, "Starting")."""

CLASSES = Path(sys.prefix) / "weir-classes.jsa"
"""Spark's classes as a JVM maps them, if they were recorded (classes.py): without them a start costs 6 s
of CPU more."""


def start_session(
    cores: int = 1,
    heap_mb: int = 512,
    app: str = "weir",
    partitions: int = 0,
    settings: Mapping[str, str] | None = None,
    options: tuple[str, ...] = (),
) -> SparkSession:
    """The process's session, with one shuffle partition a core unless `partitions` is given. `settings` go
    before SETTINGS; without a master in them this process does the work. `options`: Java's own, beside ours.
    Raises RuntimeError without Java."""
    own = {
        "spark.master": f"local[{cores}]",
        **(settings or {}),
        **json.loads(os.environ.get(CONF) or "{}"),
    }
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    os.environ.setdefault("SPARK_LOCAL_IP", own.get("spark.driver.host", "127.0.0.1"))
    if not _jvm:
        port, secret = _start_gateway(heap_mb, (*options, *((QUICK,) if cores == 1 else ())))
        os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"] = str(port), secret
    builder = SparkSession.builder.appName(app)
    for key, value in {**SETTINGS, **own}.items():
        builder = builder.config(key, value)
    session = builder.config("spark.sql.shuffle.partitions", str(partitions or cores)).getOrCreate()
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"):
        os.environ.pop(name, None)  # a process that is started from here has a JVM of its own
    session.sparkContext.setLogLevel(os.environ.get("WEIR_SPARK_LOG", "ERROR"))
    _send_little(session)
    return session


class Sessions:
    """Further ones in an application, with settings of their own: each for one user at a time, and then for
    the next. Spark keeps listeners of every session that there ever was."""

    def __init__(self, session: SparkSession) -> None:
        self._first = session
        self._free: list[SparkSession] = []

    def take(self, partitions: int) -> SparkSession:
        """One that nobody has."""
        try:
            session = self._free.pop()
        except IndexError:
            session = self._first.newSession()
        session.conf.set("spark.sql.shuffle.partitions", str(partitions))
        _keep_own_settings(session)
        return session

    def give(self, session: SparkSession) -> None:
        """Nothing of it runs any more."""
        self._free.append(session)


def _send_little(session: SparkSession) -> None:
    """Each stateful operator sends Hadoop's configuration, with every setting of the session in it, anew with
    every batch, deflated property by property. Only what was set stays: Hadoop's code has its eleven hundred
    defaults by itself; and of the settings SQL's own. A batch of a join: a quarter less CPU."""
    session._jsparkSession.sessionState()  # made first: the classes it loads read the defaults again
    context = session.sparkContext
    hadoop = context._jsc.hadoopConfiguration()
    hadoop.clear()
    for key, value in context.getConf().getAll():
        if key.startswith("spark.hadoop."):
            hadoop.set(key.removeprefix("spark.hadoop."), value)
    _keep_own_settings(session)


def _keep_own_settings(session: SparkSession) -> None:
    state = session._jsparkSession.sessionState()
    keys = state.conf().getAllConfs().keysIterator()
    while keys.hasNext():
        if not (key := keys.next()).startswith("spark.sql."):
            state.conf().unsetConf(key)


def java() -> str:
    """The `java` to use: of JAVA_HOME, else on the path."""
    home = os.environ.get("JAVA_HOME")
    path = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not path or not Path(path).exists():
        raise RuntimeError("no Java: set JAVA_HOME to a Java 17 or 21, or install openjdk-17-jre-headless")
    return path


def _start_gateway(heap_mb: int, options: tuple[str, ...]) -> tuple[int, str]:
    """Starts the JVM without spark-submit's shell and launcher; (port, secret) of its gateway.

    The kernel kills the JVM when this process dies: a JVM that outlives its Python could still write
    to the checkpoint while the next holder of the lease already reads it.
    """
    home = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    info = scratch() / "connection"
    command = [java(), f"-Xmx{heap_mb}m", *JVM_OPTIONS, *options]
    command += [f"-XX:SharedArchiveFile={CLASSES}"] if CLASSES.exists() else []
    # Spark clears its temporary folders only when it ends in order, which nobody waits for.
    command += [f"-Djava.io.tmpdir={scratch()}"]
    command += ["org.apache.spark.deploy.SparkSubmit", "pyspark-shell"]
    # In one order, which Java's own `jars/*` is not: an archive of classes is for one class path.
    jars = os.pathsep.join(str(jar) for jar in sorted((home / "jars").glob("*.jar")))
    environment = {**os.environ, "CLASSPATH": jars, "SPARK_CONNECT_MODE": "0"}
    environment["_PYSPARK_DRIVER_CONN_INFO_PATH"] = str(info)
    # With SPARK_HOME, Spark puts its pyspark.zip first on the workers' path: without cached bytecode, every
    # worker would compile what it imports (1.0 s of CPU instead of 0.3 s).
    environment.pop("SPARK_HOME", None)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, preexec_fn=_die_with_parent)
    try:
        while not info.exists():
            if process.poll() is not None:
                raise RuntimeError(f"the JVM ended with {process.returncode}: {' '.join(command[:4])} ...")
            time.sleep(0.01)
        content = info.read_bytes()
        while len(content) < 8:
            content = info.read_bytes()
    finally:
        info.unlink(missing_ok=True)
    port, length = struct.unpack("!ii", content[:8])
    _jvm.append(process)
    atexit.register(end)
    return port, content[8 : 8 + length].decode()


_jvm: list[subprocess.Popen[bytes]] = []
"""The started JVM: its standard input must stay open, it ends at the end of that."""


def kill_jvm(by: signal.Signals = signal.SIGKILL) -> None:
    """Ends the session at once, without Spark's own shutdown; or by SIGTERM, with what Java does at its end.
    No other can be started after it."""
    for process in _jvm:
        process.send_signal(by)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()


def jvm_pid() -> int | None:
    """Of the started JVM; None where there is none."""
    return _jvm[0].pid if _jvm else None


def jvm_code(wait: float = 0.0) -> int | None:
    """The exit code of the started JVM, by `subprocess`; None when it still runs after `wait` [s]."""
    for process in _jvm:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(wait)
    return None


def end() -> None:
    """The JVM and all that this process needs no more; at its end."""
    kill_jvm()
    clear()


def _die_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    ctypes.CDLL(None, use_errno=True).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
