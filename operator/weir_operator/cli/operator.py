"""`weir operator` and `weir uninstall`: Weir on a cluster."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from weir_operator.cli import BAD_INPUT

Context = Annotated[str | None, typer.Option("--context", help="Context of the kubeconfig.")]


def operator(context: Context = None) -> int:
    """Run the operator until it is told to stop. The Helm chart starts it so.

    Examples:

      weir operator                      in a pod, or with the current kubeconfig

      weir operator --context kind-weir
    """
    from weir_operator.kube.main import run
    from weir_operator.kube.settings import OperatorSettings

    try:
        settings = OperatorSettings.of_environment()
    except ValueError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    run(settings, context)
    return 0


def uninstall(
    everything: Annotated[
        bool, typer.Option("--all", help="Really: every query and all that it kept.")
    ] = False,
    budgets: Annotated[
        bool,
        typer.Option("--budgets", help="Only the fragments' disruption budgets, before the operator goes."),
    ] = False,
    context: Context = None,
    timeout: Annotated[float, typer.Option(help="Wait so many seconds for the end.")] = 300.0,
) -> int:
    """Remove every query, its pods and files, then the kinds themselves. Needed before `helm uninstall`
    only by who wants nothing to stay: the chart's removal alone leaves queries running.

    With --budgets queries stay: the chart's removal calls it, because nobody would lift the budgets then.

    Examples:

      weir uninstall --all && helm uninstall weir -n weir-system
    """
    from weir_operator.kube.api import ApiError, connect
    from weir_operator.kube.settings import OperatorSettings
    from weir_operator.kube.uninstall import lift_budgets, remove_everything

    if everything == budgets:
        print(
            "weir uninstall removes every query of the cluster: say --all if that is meant, or --budgets "
            "for the disruption budgets alone",
            file=sys.stderr,
        )
        return BAD_INPUT
    try:
        if budgets:
            lift_budgets(connect(context), OperatorSettings.of_environment(), tell=print)
        else:
            remove_everything(connect(context), timeout, tell=print)
    except (ApiError, TimeoutError) as error:
        print(f"not everything is gone: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0
