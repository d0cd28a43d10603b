"""What keeps a checker's run from being evidence, or makes it doubtful."""

from __future__ import annotations

from collections.abc import Collection

from bot.contracts.plain_text import named
from bot.contracts.wording import count_of
from bot.evidence.checkers import Checker
from bot.evidence.problems import missing_modules
from bot.evidence.projects import above
from bot.run.inspected import Inspected

_PLACES = frozenset({".venv", "venv", "node_modules"})
_OF_PYTHON = frozenset({"ty", "mypy", "pyright", "basedpyright"})


def spoilt_by(checker: Checker, changed: Collection[str]) -> str:
    """Why a checker from the tree says nothing of this change: the change may have put it there."""
    if "project" not in checker.where:
        return ""
    around = {checker.folder, *above(checker.folder)}
    for path in changed:
        # The folder itself may be a link that the change makes.
        places = (place for place in (path, *above(path)) if place.rpartition("/")[2] in _PLACES)
        if any(place.rpartition("/")[0] in around for place in places):
            return f"the change writes {named(path)}, where it may be from"
    return ""


def doubted(checker: Checker, before: Inspected) -> Inspected:
    """What a missing environment does is said: it hides errors as well as adding them."""
    needed = checker.name in _OF_PYTHON and not before.python
    missing = missing_modules(before.problems) if needed else 0
    if not missing:
        return before
    return before.because(
        f"no Python environment is here: {count_of(missing, 'module')} that the code imports cannot be found, which "
        "hides problems as well as adding some"
    )
