"""What the images are built from has every file that their Dockerfiles copy."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
BUILD = REPOSITORY / "hack/images/build"
STAGE = f"""
set -euo pipefail
source <(sed -n '/^stage_context()/,/^}}/p' {BUILD})
stage_context
"""


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The staged tree."""
    environment = {
        "REPO": str(REPOSITORY),
        "CACHE": str(tmp_path_factory.mktemp("cache")),
        "PATH": "/usr/bin:/bin",
    }
    staged = subprocess.run(
        ["bash", "-c", STAGE], env=environment, capture_output=True, text=True, check=True
    )
    return Path(staged.stdout.strip())


@pytest.mark.parametrize("image", sorted(p.parent.name for p in BUILD.parent.glob("*/Dockerfile")))
def test_every_file_that_is_copied_is_there(context: Path, image: str) -> None:
    for line in (BUILD.parent / image / "Dockerfile").read_text().splitlines():
        instruction, *words = line.split() or [""]
        if instruction == "COPY" and not any(word.startswith("--from") for word in words):
            for pattern in [word for word in words if not word.startswith("--")][:-1]:
                assert list(context.glob(pattern)), f"{image}: nothing to copy for {pattern}"
