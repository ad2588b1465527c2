"""What a query says of its pods: resources, taints that they tolerate, environment."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field

from weir_operator.api.base import DATA_KEY_PATTERN, CelRule, Identifier, LabelKey, LabelValue, Model, Name
from weir_operator.api.values import Quantity


class Resources(Model):
    """What each fragment of the query requests on its node."""

    cpu: Quantity | None = Field(
        None,
        description="Cores for a whole fragment, including executors; by default 0.1 for each pod. A pod "
        "works on as many tasks at a time as it has whole cores.",
    )
    memory: Quantity | None = Field(
        None, description="Bytes for a whole fragment; by default what Spark needs for each pod."
    )
    executors: int = Field(
        0, description="Executor pods of a fragment, on its node; 0: its driver does the work.", ge=0, le=64
    )


class Toleration(Model):
    """As in a pod."""

    rules = (
        CelRule(
            cel="!has(self.value) || self.value == '' || !has(self.operator) || self.operator != 'Exists'",
            message="value has no place beside operator: Exists: leave it out, or write operator: Equal",
            holds=lambda raw: not raw.get("value") or raw.get("operator") != "Exists",
            field="value",
        ),
        CelRule(
            cel="has(self.key) || (has(self.operator) && self.operator == 'Exists')",
            message="without key it is for every taint: write operator: Exists, or a key",
            holds=lambda raw: raw.get("key") is not None or raw.get("operator") == "Exists",
        ),
        CelRule(
            cel="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
            message="tolerationSeconds is for effect: NoExecute: write that, or leave it out",
            holds=lambda raw: raw.get("tolerationSeconds") is None or raw.get("effect") == "NoExecute",
            field="tolerationSeconds",
        ),
    )
    key: LabelKey | None = Field(None, description="Taint key; by default every taint matches.")
    operator: Literal["Exists", "Equal"] = Field("Equal", description="How the value is compared.")
    value: LabelValue | None = Field(None, description="Taint value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="Taint effect; by default every effect matches."
    )
    toleration_seconds: int | None = Field(None, description="How long NoExecute is tolerated.", ge=0)


_RESERVED_ENV = re.compile(
    r"^(LD_|PYTHON|PYSPARK|SPARK_|JAVA_|JDK_|WEIR_|KUBERNETES_|HADOOP_|POD_(IP|NAME|NAMESPACE|UID)$|PATH$|HOME$)"
)


class SecretKey(Model):
    """One key of a Secret in the query's namespace."""

    name: Name = Field(description="Name of the Secret.")
    key: Annotated[str, Field(max_length=253, pattern=DATA_KEY_PATTERN)] = Field(description="Key in it.")


class EnvVar(Model):
    """An environment variable of the query's fragments."""

    rules = (
        CelRule(
            cel="!(has(self.value) && has(self.secretRef))",
            message="at most one of value, secretRef may be given",
            holds=lambda raw: raw.get("value") is None or raw.get("secretRef") is None,
        ),
        CelRule(
            cel=f"!self.name.matches('{_RESERVED_ENV.pattern}')",
            message="names that affect Python, Spark, Java or Weir are reserved: choose another",
            holds=lambda raw: not _RESERVED_ENV.match(str(raw.get("name", ""))),
            field="name",
        ),
    )
    name: Identifier = Field(description="Name of the variable.")
    value: Annotated[str, Field(max_length=4096)] | None = Field(None, description="Its value.")
    secret_ref: SecretKey | None = Field(
        None, description="Take its value from a Secret: only in a cluster, and only without executors."
    )
