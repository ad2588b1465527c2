"""Where rows come from and go to: Kafka, files, a generator, the console, nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field
from weir_placement.model.location import Location, files_location

from weir_operator.api.base import CelRule, Identifier, Model, Name, exactly_one
from weir_operator.api.values import Quantity

TOPIC_PATTERN = r"^[a-zA-Z0-9._-]+$"
ENDPOINT_PATTERN, REGION_PATTERN = r"^https?://[^/\s]+/?$", r"^[A-Za-z0-9-]+$"
_SCHEME = re.compile("^[A-Za-z][A-Za-z0-9+.-]*:")
BUCKET, PART = r"^s3://[A-Za-z0-9][A-Za-z0-9._-]*", r"(/[A-Za-z0-9_][A-Za-z0-9_=.-]*)"
_OBJECTS = re.compile(f"{BUCKET}{PART}+$")


class KafkaSecurity(Model):
    """How to log in to Kafka. Secrets are in the namespace of the object that names them."""

    rules = (
        CelRule(
            cel="!self.protocol.startsWith('SASL_') || (has(self.mechanism) && has(self.secretRef))",
            message="mechanism and secretRef must be given with a SASL protocol",
            holds=lambda raw: (
                not str(raw.get("protocol", "")).startswith("SASL_")
                or bool(raw.get("mechanism") and raw.get("secretRef"))
            ),
        ),
    )
    protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = Field(
        description="Kafka's protocol."
    )
    mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = Field(
        None, description="SASL mechanism."
    )
    secret_ref: Name | None = Field(None, description="Secret with the keys username and password.")
    ca_secret_ref: Name | None = Field(None, description="Secret with the key ca.crt.")


class S3(Model):
    """How to reach an object store that speaks S3. Secrets are in each query's namespace."""

    endpoint: Annotated[str, Field(max_length=1024, pattern=ENDPOINT_PATTERN)] | None = Field(
        None, description="For example https://s3.example.com; by default that of AWS for the region."
    )
    region: Annotated[str, Field(max_length=63, pattern=REGION_PATTERN)] | None = Field(
        None, description="Region of the bucket; by default us-east-1."
    )
    secret_ref: Name | None = Field(
        None,
        description="Secret with the keys AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN "
        "if there is one; by default processes log in with their service account or with environment "
        "variables of these names.",
    )
    ca_secret_ref: Name | None = Field(
        None, description="Secret with the key ca.crt: an authority in addition to those of the image."
    )


class KafkaTopic(Model):
    """A topic and its brokers."""

    bootstrap_servers: Annotated[str, Field(min_length=1, max_length=1024)] = Field(
        description="host:port of brokers, separated by commas."
    )
    topic: Annotated[str, Field(min_length=1, max_length=249, pattern=TOPIC_PATTERN)] = Field(
        description="The topic."
    )
    security: KafkaSecurity | None = Field(None, description="How to log in; by default plain text.")


class Kafka(KafkaTopic):
    """A topic of rows."""

    format: Literal["json"] = Field("json", description="How a row is written in a message.")


class KafkaTarget(Kafka):
    """A topic to write."""

    key: Annotated[list[Annotated[str, Field(max_length=128)]], Field(min_length=1, max_length=16)] | None = (
        Field(
            None,
            description="Columns of the result that form each message's key, as a JSON object; by default "
            "the row id, so that a row that is written again goes to the same partition.",
            json_schema_extra={"x-kubernetes-list-type": "atomic"},
        )
    )
    transactional: bool = Field(
        False,
        description="true: each batch is a transaction, so that whoever reads with "
        "`isolation.level=read_committed` sees each row once.",
    )


UNIX_TIMES = Field(
    None,
    description="TIMESTAMP columns that are written as whole numbers since 1970-01-01 UTC (Unix time, epoch "
    "milliseconds), with the unit: s, ms or us. All others are written in ISO 8601.",
)
UnixTimes = Annotated[dict[Identifier, Literal["s", "ms", "us"]], Field(max_length=256)] | None


OnDataLoss = Literal["Fail", "Continue"]


class KafkaSource(Kafka):
    """A topic to read."""

    unix_times: UnixTimes = UNIX_TIMES
    starting_offsets: Literal["earliest", "latest"] = Field(
        "earliest", description="Where a query without a checkpoint begins."
    )
    on_data_loss: OnDataLoss = Field(
        "Fail",
        description="What happens when rows were deleted before they were read, by retention or because the "
        "topic was recreated: Fail stops the query and reports their number, Continue counts them and "
        "goes on.",
    )


class Files(Model):
    """A folder of files, or objects below a path."""

    rules = (
        CelRule(
            cel="!self.uri.split('/').exists(part, part == '..')",
            message="uri must stay below the namespace's root: it may not contain '..'",
            holds=lambda raw: ".." not in str(raw.get("uri", "")).split("/"),
            field="uri",
        ),
        CelRule(
            cel=f"!self.uri.matches('{_SCHEME.pattern}') || self.uri.matches('{_OBJECTS.pattern}')",
            message="uri must be a path, such as in/clicks, or s3://BUCKET/PATH: there is no other scheme",
            holds=lambda raw: (
                not _SCHEME.match(str(raw.get("uri", ""))) or bool(_OBJECTS.match(str(raw["uri"])))
            ),
            field="uri",
        ),
        CelRule(
            cel="!has(self.s3) || self.uri.startsWith('s3://')",
            message="s3 describes the store that uri names: give uri as s3://BUCKET/PATH, or leave s3 out",
            holds=lambda raw: raw.get("s3") is None or str(raw.get("uri", "")).startswith("s3://"),
            field="s3",
        ),
    )
    uri: Annotated[str, Field(min_length=1, max_length=1024)] = Field(
        description="A path below the namespace's root on the exchange's volume (with `weir run`, below the "
        "folder where it was started), or s3://BUCKET/PATH on an object store."
    )
    s3: S3 | None = Field(None, description="How to reach the object store.")

    @property
    def location(self) -> Location:
        """Where the files lie."""
        return files_location(self.model_dump(by_alias=True, exclude_none=True))


class FilesSource(Files):
    """A folder to read."""

    format: Literal["parquet", "arrow", "json", "csv"] = Field("parquet", description="Format of the files.")
    unix_times: UnixTimes = UNIX_TIMES
    on_data_loss: OnDataLoss = Field(
        "Fail",
        description="What happens when files were deleted before they were read: Fail stops the query and "
        "names them, Continue counts them and goes on with the next file.",
    )


class FilesSink(Files):
    """A folder to write."""

    format: Literal["parquet"] = Field("parquet", description="Format of the files.")


class DeadLetter(Model):
    """Where rows that cannot be read go: each with its bytes, its position, and the reason."""

    rules = (exactly_one("kafka", "files"),)
    kafka: KafkaTopic | None = Field(
        None, description="A topic: the original bytes, with the rest in headers; at least once."
    )
    files: Files | None = Field(
        None, description="A folder of parquet files, or objects below a path: exactly once."
    )


class Rate(Model):
    """A generator of rows, for demonstrations: every column is computed from the row's number."""

    rows_per_second: Quantity | None = Field(None, description="Rows/s; by default the stream's rate.")
    seed: int | None = Field(None, description="Seed of the values.", ge=0)


class Source(Model):
    """Where a stream's rows come from."""

    rules = (exactly_one("kafka", "files", "rate"),)
    kafka: KafkaSource | None = Field(None, description="A Kafka topic.")
    files: FilesSource | None = Field(None, description="A folder of numbered batch files.")
    rate: Rate | None = Field(None, description="A generator.")
    on_bad_row: Literal["DeadLetter", "Fail"] = Field(
        "DeadLetter",
        description="What happens to a row that cannot be read. DeadLetter: it goes to the dead letters, and "
        "the query goes on; Fail: every query that reads it fails until the row is gone.",
    )
    dead_letter: DeadLetter | None = Field(
        None,
        description="Where dead letters go; by default to a folder beside the side log of late rows.",
    )

    @property
    def unix_times(self) -> Mapping[str, str]:
        """Units of the columns that are written as numbers since 1970."""
        reader = self.kafka or self.files
        return (reader.unix_times if reader else None) or {}


class Nothing(Model):
    """An empty object: its name says everything."""


class Sink(Model):
    """Where a query's rows go."""

    rules = (exactly_one("kafka", "files", "console", "noop"),)
    kafka: KafkaTarget | None = Field(
        None,
        description="A Kafka topic: at least once, with the row id in a header; transactional: exactly once.",
    )
    files: FilesSink | None = Field(None, description="A folder of files: exactly once.")
    console: Nothing | None = Field(None, description="The log of the last fragment.")
    noop: Nothing | None = Field(None, description="Nowhere: rows are counted and dropped.")
