"""`weir operator` and `weir uninstall`: Weir on a cluster."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import BAD_INPUT

KubeContext = Annotated[
    str | None, typer.Option("--context", metavar="NAME", help="Context in the kubeconfig.")
]


def operator(context: KubeContext = None) -> int:
    """Run the operator until it is stopped. This is what the Helm chart starts.

    Exit code 0: stopped; 2: wrong settings, or no cluster to connect to.

    Examples:

      weir operator                            # in a pod, or with the current kubeconfig

      weir operator --context kind-weir
    """
    from weir_operator.kube.api import ApiError
    from weir_operator.kube.main import run
    from weir_operator.kube.settings import OperatorSettings

    try:
        settings = OperatorSettings.of_environment()
    except ValueError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    try:
        run(settings, context)
    except ApiError as error:  # at the start: later ones end no process
        print(f"weir operator: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def uninstall(
    everything: Annotated[
        bool, typer.Option("--all", help="Confirm: remove every query and all of its state.")
    ] = False,
    budgets: Annotated[
        bool,
        typer.Option("--budgets", help="Remove only the fragments' disruption budgets."),
    ] = False,
    context: KubeContext = None,
    timeout: Annotated[
        float,
        typer.Option("--timeout", metavar="S", help="Longest time to wait for all to be removed."),
    ] = 300.0,
) -> int:
    """Remove every query, its pods and files, then the CustomResourceDefinitions. Run it before `helm
    uninstall` if nothing is to remain: `helm uninstall` alone leaves the queries running.

    With --budgets queries stay. `helm uninstall` runs this, because without the operator nothing would ever
    remove the budgets, and drains of nodes would wait for them.

    Examples:

      weir uninstall --all && helm uninstall weir -n weir-system
    """
    from weir_operator.kube.api import ApiError, connect
    from weir_operator.kube.settings import OperatorSettings
    from weir_operator.kube.uninstall import lift_budgets, remove_everything

    if everything == budgets:
        print(
            "weir uninstall: removes every query in the cluster; confirm with --all, or give --budgets "
            "to remove only the disruption budgets",
            file=sys.stderr,
        )
        return BAD_INPUT
    try:
        if budgets:
            lift_budgets(connect(context), OperatorSettings.of_environment(), tell=print)
        else:
            remove_everything(connect(context), timeout, tell=print)
    except (ApiError, TimeoutError) as error:
        print(f"not everything was removed: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0
