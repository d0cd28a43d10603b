"""`new_errors`: report texts that do not parse, and did before or are new. Called by the supervisor only, for files
that it wrote itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from bot.contracts.tools import ToolOutcome
from bot.toolhost import syntax
from bot.toolhost.context import Context


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    errors: dict[str, str] = {}
    for file in arguments["files"]:
        path = PurePosixPath(str(file["path"]))
        why = syntax.first_error(path, str(file["after"]))
        before = file.get("before")
        if why and (before is None or not syntax.first_error(path, str(before))):
            errors[str(path)] = f"no valid {syntax.language(path)}: {why}"
    return ToolOutcome(
        "\n".join(f"{path}: {why}" for path, why in errors.items()), metadata={"errors": errors}
    )
