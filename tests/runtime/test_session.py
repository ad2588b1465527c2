"""What a session starts from, and what it carries along with every batch."""

from __future__ import annotations

from pathlib import Path

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
