"""What is wrong with the objective and the options that a policy or the command line gives a strategy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from weir_placement.model.suggestion import suggestion
from weir_placement.objectives import HEADROOM, OBJECTIVES
from weir_placement.strategies import STRATEGIES, select
from weir_placement.strategy import Strategy

from weir_operator.manifests.finding import Finding, Key

PARAMETERS = "spec.strategy.parameters"


def objective_findings(key: Key | None, path: str, strategy: str, objective: str) -> list[Finding]:
    """What is wrong with the objective `path` of `key` (or of the command line) for this strategy."""
    if objective not in OBJECTIVES:
        right = suggestion(objective, OBJECTIVES, "objectives")
        return [Finding(key, path, f"no objective {objective}", right)]
    if select(strategy, objective).plans_for(objective):
        return []
    able = sorted(name for name, other in STRATEGIES.items() if other.plans_for(objective))
    right = f"strategies that do: {', '.join(able)}" if able else "no strategy does"
    return [Finding(key, path, f"strategy {strategy} does not plan for objective {objective}", right)]


def option_findings(
    key: Key,
    strategy: Strategy[Any],
    objective: str,
    options: Mapping[str, str],
    overrides: Mapping[str, str] | None = None,
) -> list[Finding]:
    """What is wrong with a policy's parameters, or with the command line's `overrides`."""
    findings = []
    for error in strategy.option_errors(options, objective):
        right = error.right
        if error.name not in strategy.options:
            right = suggestion(error.name, strategy.options, f"options of {strategy.name}")
        if overrides and error.name in overrides:
            findings.append(Finding(None, f"--set {error.name}={options[error.name]}", error.wrong, right))
        else:
            findings.append(Finding(key, f"{PARAMETERS}.{error.name}", error.wrong, right))
    return findings


def unquoted_findings(key: Key, policy: Mapping[str, Any]) -> list[Finding]:
    """What is wrong with a raw policy's parameters beside that their numbers are not in quotes."""
    spec = policy["spec"]
    name, objective = spec["strategy"].get("name", "auto"), spec.get("objective", HEADROOM.name)
    parameters = spec["strategy"]["parameters"]
    if name not in STRATEGIES or objective not in OBJECTIVES or not isinstance(parameters, Mapping):
        return []
    texts = {option: str(value) for option, value in parameters.items()}
    return option_findings(key, select(name, objective), objective, texts)
