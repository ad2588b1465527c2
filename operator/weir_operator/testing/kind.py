"""Kind QueryTest: rows that go into a query and rows that must come out. Never applied to a cluster."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from weir_operator.api.base import Metadata, Model

GROUP = "test.weir.dev"
"""Another group than that of the other kinds: `weir plan -f FOLDER` passes over tests in the folder."""

CaseRow = dict[str, Any]
"""Values by column, as a JSON file has them (docs/files.md, "Types")."""


class QueryTestSpec(Model):
    """Rows in, rows expected."""

    manifests: Annotated[list[str], Field(min_length=1)] = Field(
        default_factory=lambda: ["."],
        description="Files and folders with the query and its streams, relative to the test's folder; by "
        "default that folder.",
    )
    query: str | None = Field(
        None, description="Name of the query, or namespace/name; by default the only one."
    )
    rows: dict[str, list[CaseRow]] = Field(
        description="Rows of each stream that the query reads, in the order in which they arrive; a column "
        "that is not written is null."
    )
    expected: list[CaseRow] = Field(description="All rows of the result, in any order, with all columns.")


class QueryTest(Model):
    """One test of one query."""

    api_version: Literal["test.weir.dev/v1alpha1"] = "test.weir.dev/v1alpha1"
    kind: Literal["QueryTest"] = "QueryTest"
    metadata: Metadata
    spec: QueryTestSpec
