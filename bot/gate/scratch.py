"""A folder that lives as long as one judgement: an index, a git directory to render from, contents."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.checkout.git import Git
from bot.checkout.layout import READABLE_ATTRIBUTES, make_git_dir, object_format_of

# What tools leave behind and nobody commits. Weaker than any rule of the base's own .gitignore files.
_LEFTOVERS = "\n".join(
    ("__pycache__/", "*.pyc", ".pytest_cache/", ".mypy_cache/", ".ruff_cache/", ".hypothesis/", ".tox/", ".venv/",
     "node_modules/", ".DS_Store", "*.swp", "")
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scratch:
    """`render` sees the objects of `git` and shows text as text: its attributes do not say `-diff`."""

    git: Git
    folder: Path
    index: Path
    render: Git
    object_format: str

    @property
    def objects(self) -> dict[str, str]:
        """The environment in which `render` reads the objects of `git`."""
        return {"GIT_OBJECT_DIRECTORY": str(self.git.git_dir / "objects")}


@contextmanager
def scratch(git: Git, base_sha: str) -> Iterator[Scratch]:
    """Make the folder beside the trusted git directory, never in a work tree; it is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="gate-", dir=git.git_dir.parent))
    try:
        object_format = object_format_of(base_sha)
        render = folder / "render.git"
        make_git_dir(render, bare=True, object_format=object_format, attributes=READABLE_ATTRIBUTES)
        (render / "info" / "exclude").write_text(_LEFTOVERS)
        yield Scratch(git, folder, folder / "index", Git(render), object_format)
    finally:
        shutil.rmtree(folder)
