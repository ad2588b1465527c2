"""What a session starts from, and what it carries along with every batch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from weir_runtime import session


def test_no_defaults_of_hadoop_travel_with_a_batch(spark: SparkSession) -> None:
    """They would be eleven hundred, deflated one by one for each stateful operator and batch."""
    spark.range(3).collect()  # classes that are loaded late read the defaults into every configuration again
    sent = spark._jsparkSession.sessionState().newHadoopConf()
    names = sent.getPropsWithPrefix("").keySet()
    allowed = ("spark.sql.", "fs.", "spark.hadoop.")
    assert not [name for name in names if not name.startswith(allowed)]
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
    assert len(names) < 60


def test_the_jvm_starts_from_recorded_classes(spark: SparkSession) -> None:
    """Java maps the archive only when it was made by this Java, from these jars in this order."""
    (process,) = session._jvm
    assert str(session.CLASSES) in Path(f"/proc/{process.pid}/maps").read_text()


@pytest.mark.parametrize(
    ("key", "least"),
    [
        ("spark.sql.optimizer.excludedRules", "PushDownPredicates"),  # a conjunct swallows the markers
        (
            "spark.sql.streaming.stateStore.providerClass",
            "HDFSBackedStateStoreProvider",
        ),  # moves in half the time
        ("spark.sql.streaming.noDataMicroBatches.enabled", "false"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.sql.shuffle.partitions", "1"),
        ("spark.authenticate", "true"),  # nobody else speaks to a driver or its executors
        ("spark.ui.enabled", "false"),
        ("spark.ui.killEnabled", "false"),
    ],
)
def test_settings_that_results_and_moves_rest_on(spark: SparkSession, key: str, least: str) -> None:
    own = key.startswith("spark.sql.")  # of the session; the others are the context's
    value = spark.conf.get(key) if own else spark.sparkContext.getConf().get(key)
    assert value is not None
    assert least in value


def test_workers_use_this_python(spark: SparkSession) -> None:
    """Another Python on the path fails at the first batch, or, worse, has another pyarrow."""
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
