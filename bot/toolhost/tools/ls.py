"""`ls`: what is in a folder, as a tree that is filled level by level until it is full."""

import os
from collections import Counter
from itertools import accumulate

from bot.contracts.formatting import count_of
from bot.contracts.plain_text import printable_name
from bot.contracts.tool_limits import MAX_ENTRIES
from bot.contracts.tools import ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.files import failure, readable_folder, relative, search_location


def run(context: Context, path: str = ".") -> ToolOutcome:
    folder = readable_folder(context, path)
    name = relative(context, folder)
    files = search_location(context, folder).names
    folders = Counter(parent for file in files for parent in accumulate(file.split("/")[:-1], "{}/{}".format))
    entries = sorted({*files, *folders}, key=lambda entry: (entry.count("/"), entry))
    lines = [f"{name}/ ({count_of(files, 'file')})"]
    for entry in sorted(entries[:MAX_ENTRIES], key=lambda entry: entry.split("/")):
        counted = f"/ ({count_of(folders[entry], 'file')})" if entry in folders else ""
        indent = "  " * (entry.count("/") + 1)
        lines.append(f"{indent}{printable_name(entry.rpartition('/')[2])}{counted}")
    hidden = max(len(entries) - MAX_ENTRIES, 0)
    if hidden:
        lines.append(f"[{hidden} entries are not shown; list one of the folders to see them]")
    try:
        there = set(os.listdir(folder)) - {".git", *entries}
    except OSError as error:
        raise failure(error, name) from None
    if left_out := sorted(entry + "/" * os.path.isdir(folder / entry) for entry in there):
        some = ", ".join(map(printable_name, left_out[:8])) + (", ..." if len(left_out) > 8 else "")
        lines.append(f"[{len(left_out)} skipped here, ignored or empty: {some}]")
    return ToolOutcome("\n".join(lines))
