"""`weir crds`: the CustomResourceDefinitions from the models."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from weir_operator.cli.exit_codes import DIFFERENT
from weir_operator.cli.inputs import below_folders


def crds(
    folder: Annotated[Path, typer.Argument(help="Folder to write to.")] = Path("crds"),
    reference: Annotated[
        Path | None,
        typer.Option("--reference", metavar="FILE", help="Update the field tables in this document instead."),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if the folder differs.")
    ] = False,
) -> int:
    """Write the CustomResourceDefinitions.

    Examples:

      weir crds                                # writes crds/*.yaml

      weir crds --check                        # lists the files that differ from the models

      weir crds - | kubectl apply --server-side -f -

      weir crds --reference docs/manifests.md
    """
    if reference is not None:
        from weir_operator.api.reference import with_reference

        text = reference.read_text(encoding="utf-8")
        if not check:
            reference.write_text(with_reference(text), encoding="utf-8")
        return DIFFERENT if check and with_reference(text) != text else 0
    from weir_operator.api.crds import files

    texts = dict(files())
    if str(folder) == "-":
        print("---\n".join(texts.values()), end="")
        return 0
    if check:
        different = [n for n, text in texts.items() if not _same(folder / n, text)]
        different += [f.name for f in sorted(folder.glob("*.yaml")) if f.name not in texts]
        for name in different:
            what = "differs from the models" if (folder / name).exists() else "is missing"
            print(f"{folder / name}: {what}; run `weir crds {folder}`", file=sys.stderr)
        return DIFFERENT if different else 0
    below_folders(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


def _same(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text
