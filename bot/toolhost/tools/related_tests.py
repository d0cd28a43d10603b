"""`related_tests`: find the tests of the work tree that are related to changed files. Called by the supervisor only, if
there is no time for all tests."""

from collections.abc import Sequence

from bot.contracts.tools import ToolOutcome
from bot.ecosystems.registry import named
from bot.toolhost.context import Context

_MOST = 60


def run(context: Context, kind: str, changed: Sequence[str]) -> ToolOutcome:
    """`changed` are paths; `kind` names an ecosystem. The metadata has `tests`: paths, or names of packages."""
    find = named(kind).related
    return ToolOutcome("", metadata={"tests": find(context.root, changed)[:_MOST] if find else []})
