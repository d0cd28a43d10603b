"""What checks a whole project before a change and with it, by the names that a policy and an outcome have for them. How
each is called is in `bot/evidence/checkers.py`."""

from __future__ import annotations

NAMES = (
    "ruff", "ty", "basedpyright", "pyright", "mypy", "python-syntax", "tsc", "biome", "oxlint", "eslint", "cargo",
    "gopls", "go-vet", "shellcheck", "bash",
)  # fmt: skip
"""In the order in which they are run and told of."""
