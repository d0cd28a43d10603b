"""`write`: a whole file, new or in place of one that was viewed."""

import os

from bot.contracts.plain_text import printable_name
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.encoding import Text, to_lf, usual_line_end
from bot.toolhost.files import LoadedFile, load, relative, require_shown, resolve
from bot.toolhost.write_changes import Change, commit


def run(context: Context, path: str, content: str) -> ToolOutcome:
    return write_file(context, "write", path, content)


def write_file(context: Context, tool: str, raw_path: str, content: str) -> ToolOutcome:
    """Make `content` all of a file, for a call of `tool`."""
    if raw_path.endswith("/"):
        raise ToolFailure(
            f"{printable_name(raw_path)} names a folder. Give a file in it; folders are made as needed."
        )
    path = resolve(context, raw_path)
    name = relative(context, path)
    before = load(context, path, raw_path) if os.path.lexists(path) else None
    after = _like(before, content) if before else Text(content)
    if before and after.content == before.text.content:
        return unchanged(name, f"{name} has this content already; nothing was written.")
    if before and before.data:
        require_shown(context, before)
    [metadata] = commit(context, tool, [Change(path, before, after)])
    counts = f"+{metadata['additions']} -{metadata['removals']}"
    return ToolOutcome(f"{'Wrote' if before else 'Created'} {name} ({counts}).", metadata=metadata)


def unchanged(name: str, content: str) -> ToolOutcome:
    """The result of a call that changed nothing in the file `name`."""
    return ToolOutcome(content, metadata={"path": name, "additions": 0, "removals": 0})


def _like(before: LoadedFile, content: str) -> Text:
    """The content in the existing file's encoding, with its usual line ends."""
    if before.text.mark:
        content = content.removeprefix("\ufeff")
    ending = usual_line_end(before.text.content)
    return before.text._replace(content=to_lf(content).replace("\n", ending))
