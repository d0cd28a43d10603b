"""`glob`: files whose path matches a pattern, newest first."""

import os
from pathlib import Path

from bot.contracts.tool_limits import MAX_FILES
from bot.contracts.tools import ToolFailure, ToolOutcome
from bot.toolhost.context import Context
from bot.toolhost.files import inside, readable_folder, relative, search_location
from bot.toolhost.listing import matcher


def run(context: Context, pattern: str, path: str = ".") -> ToolOutcome:
    folder = readable_folder(context, path)
    matches_pattern = matcher(_from_folder(context, pattern, folder))
    matches = list(filter(matches_pattern, search_location(context, folder).names))
    if not matches:
        where = "" if path == "." else f" in {relative(context, folder)}"
        return ToolOutcome(f"No file matches {pattern}{where}. Try a wider pattern such as **/*name*, or ls.")

    def age(name: str) -> tuple[int, str]:
        try:
            return -os.lstat(folder / name).st_mtime_ns, name
        except OSError:
            return 0, name  # gone since it was listed

    lines = [relative(context, folder / name) for name in sorted(matches, key=age)[:MAX_FILES]]
    if len(matches) > MAX_FILES:
        lines.append(f"[the newest {MAX_FILES} of {len(matches)} files; narrow the pattern to see others]")
    return ToolOutcome("\n".join(lines))


def _from_folder(context: Context, pattern: str, folder: Path) -> str:
    """The pattern relative to the folder; an absolute one counts from the root of the repository, if inside."""
    if not pattern:
        raise ToolFailure('"pattern" is empty. Use * for everything.')
    if ".." in pattern.split("/"):
        raise ToolFailure("A pattern cannot go up with ..; give the folder as path.")
    for start in (str(folder), str(context.root)):
        if inside(pattern, start) and folder == Path(os.path.realpath(start)):
            return "./" + pattern[len(start) :].lstrip("/")
    return pattern
