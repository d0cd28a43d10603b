"""`restore`: restore one file to one of its versions in the history of this run. Called by the supervisor only. It is a
change like every other: with a permission question, a second check, and a new version."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.commit import Change, commit
from bot.toolhost.context import Context, integer_argument, text_argument
from bot.toolhost.file_history import Version
from bot.toolhost.files import load, relative, resolve
from bot.toolhost.text import NotTextError, Text, decode


def run(arguments: Mapping[str, Any], context: Context) -> ToolOutcome:
    raw_path = text_argument(arguments, "path")
    number = integer_argument(arguments, "version", 0, 0, 1 << 30)
    path = resolve(context, raw_path)
    name = relative(context, path)
    versions = context.history.versions(name)
    if number >= len(versions):
        has = f"it has 0 to {len(versions) - 1}" if versions else "no tool changed it"
        raise ToolFailure(f"{name} has no version {number}: {has}.")
    wanted = _content(context, versions[number])
    before = load(context, path, raw_path) if os.path.lexists(path) else None
    if (before.data if before else None) == wanted:
        return ToolOutcome(f"{name} is as it was at version {number}.", metadata={"path": name})
    after = None if wanted is None else _text(wanted, name)
    change = Change(path, before, after, exact=wanted, mode=versions[number].mode)
    metadata = commit(context, "restore", [change]).files[0]
    return ToolOutcome(f"Restored {name} to version {number}.", metadata=metadata)


def _content(context: Context, version: Version) -> bytes | None:
    try:
        return context.history.content(version)
    except LookupError as error:
        raise ToolFailure(
            f"Version {version.number} of {version.path} cannot be had: {error.args[0]}."
        ) from None


def _text(data: bytes, name: str) -> Text:
    try:
        return decode(data)
    except NotTextError as error:
        raise ToolFailure(f"{name} cannot be restored: {error}.") from None
