"""What runs when a tool is called. To add one: describe it in `specs.py`, copy the shape of a neighbour in `tools/`
(a `run`), then name it here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.workshop.host import specs
from bot.workshop.host.context import Context
from bot.workshop.host.tools import (
    bash,
    bash_kill,
    bash_output,
    check_reports,
    edit,
    glob,
    grep,
    ls,
    new_errors,
    patch,
    problems_of,
    related_tests,
    restore,
    try_suggestion,
    view,
    write,
)

Run = Callable[[Mapping[str, Any], Context], ToolOutcome]

RUN: Mapping[str, Run] = {
    specs.VIEW.name: view.run,
    specs.LS.name: ls.run,
    specs.GLOB.name: glob.run,
    specs.GREP.name: grep.run,
    specs.EDIT.name: edit.run,
    specs.WRITE.name: write.run,
    specs.PATCH.name: patch.run,
    specs.BASH.name: bash.run,
    specs.BASH_OUTPUT.name: bash_output.run,
    specs.BASH_KILL.name: bash_kill.run,
    # The supervisor's own: no description of them is shown to a model.
    "check_reports": check_reports.run,
    "new_errors": new_errors.run,
    "problems_of": problems_of.run,
    "related_tests": related_tests.run,
    "restore": restore.run,
    "try_suggestion": try_suggestion.run,
}
