"""The checkers for JavaScript and TypeScript, and their output."""

import json
import re
from collections.abc import Iterator, Mapping
from posixpath import basename, dirname, join, normpath

from bot.ecosystems.checker import (
    CONSIDERED,
    ERROR,
    IGNORED,
    PROJECT,
    WARNING,
    Checker,
    Files,
    Find,
    Form,
    FormError,
    Table,
    by_key,
    by_line,
    each_with,
    entries,
    folders_with,
    number_of,
    parsed,
    ranked,
    table,
    topmost_with,
)

_oxlint = by_key("diagnostics", "filename labels.0.span.line labels.0.span.column severity code message")


def _eslint(output: str) -> Iterator[Find]:
    """Parse the last line that is a list: settings are code, which may print before it. A message on a file as a
    whole has no line: that no settings apply to the file is an error, that it is ignored is not."""
    lines = (line for line in reversed(output.split("\n")) if line.startswith("["))
    files = entries(parsed(next(lines, output)))
    if not files:
        raise FormError("there was no file for it to look at")
    reasons = [_unplaced(entry) for entry in files]
    if all(reasons):
        raise FormError(reasons[0])
    for entry in files:
        for message in entries(entry.get("messages")):
            severity = {2: ERROR, 1: WARNING}.get(number_of(message.get("severity")))
            line, code, text = number_of(message.get("line")), message.get("ruleId"), message.get("message")
            if message.get("fatal"):
                line, code, text = line or 1, "parsing-error", str(text).removeprefix("Parsing error: ")
            if severity is not None and line:
                yield Find(entry.get("filePath"), line, message.get("column"), severity, code, text)


def _unplaced(entry: Table) -> str:
    """Why the checker could not check a file at all."""
    messages = entries(entry.get("messages"))
    fatal = (each for each in messages if each.get("fatal") and not number_of(each.get("line")))
    return next((str(each.get("message")) for each in fatal), "")


_tsc_lines = by_line(
    r"(?P<path>[^\s(][^(\n]*)\((?P<line>\d{1,9}),(?P<column>\d{1,9})\): (?P<severity>error|warning) "
    r"(?P<code>TS\d{1,6}): (?P<message>.*)$"
)


def _tsc(output: str) -> Iterator[Find]:
    if wrong := re.search(r"(?m)^error (TS\d{1,6}: .*)$", output):
        raise FormError(wrong[1])
    return _tsc_lines(output)


_RANGE = "location.path location.range.start.line location.range.start.column"
FORMS: Mapping[str, Form] = {
    "eslint": _eslint,
    "oxlint": _oxlint,
    "rdjson": by_key("diagnostics", f"{_RANGE} severity code.value message"),
    "tsc": _tsc,
}


_STRING = r'("(?:[^"\\\n]|\\(?:.|\Z))*(?:"|(?=\n)|\Z))'  # it ends in any case, which keeps it linear
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)", re.DOTALL)
_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)
_LARGEST = 200_000


def _typescript_projects(checker: Checker, files: Files) -> Iterator[Checker]:
    """Referenced projects are separate ones: `tsc --build` would write output."""
    projects: dict[tuple[str, str], None] = {}
    for number, folder in enumerate(folders_with(files, checker.manifest)):
        settings = _json(files.text(join(folder, checker.manifest))) if number < CONSIDERED else {}
        # One that is only extended or refers to others has no files.
        if settings.get("files") != [] or settings.get("include"):
            projects[folder, checker.manifest] = None
        # Referenced folders have a tsconfig.json of their own.
        references = settings.get("references")
        for entry in references if isinstance(references, list) else ():
            path = table(entry).get("path")
            referred = normpath(join(folder, path)) if isinstance(path, str) else ""
            if referred.endswith(".json") and referred in files.paths:
                projects[dirname(referred), basename(referred)] = None
    order = ranked({folder for folder, _ in projects})
    for folder, file in sorted(projects, key=lambda each: (order.index(each[0]), each[1])):
        yield checker._replace(folder=folder, file="" if file == checker.manifest else file)


def _json(text: str | None) -> Table:
    """Parse JSON with comments and trailing commas, as TypeScript does."""
    plain = _COMMENT.sub(lambda match: match[1] or " ", (text or "")[:_LARGEST])
    try:
        return table(json.loads(_COMMA.sub(lambda match: match[1] or " ", plain)))
    except (ValueError, RecursionError):
        return {}


CHECKERS: tuple[Checker, ...] = (
    Checker(
        "tsc",
        "--noEmit --pretty false -p .",
        PROJECT,
        exits=(0, 1, 2),
        unit="utf-16",
        settings="**/tsconfig*.json package.json",
        hides=r"TS1\d{3}",
        projects=_typescript_projects,
        manifest="tsconfig.json",
        known_as=("tsc", "typescript"),
    ),
    Checker(
        "biome",
        "lint --reporter=rdjson",
        PROJECT,
        form="rdjson",
        settings=f"**/biome.json **/biome.jsonc {IGNORED}",
        projects=topmost_with("biome.json biome.jsonc"),
    ),
    Checker(
        "oxlint",
        "-f json",
        PROJECT,
        settings=f"**/.oxlintrc.json .eslintignore {IGNORED}",
        projects=topmost_with(".oxlintrc.json"),
    ),
    Checker(
        "eslint",
        "--format json --no-error-on-unmatched-pattern .",
        PROJECT,
        unit="utf-16",
        settings="**/eslint.config.* package.json **/tsconfig*.json **/.prettierrc*",
        hides="parsing-error",
        exclude_option="--ignore-pattern={}/**",
        projects=each_with("""
            eslint.config.js eslint.config.mjs eslint.config.cjs eslint.config.ts eslint.config.mts
            eslint.config.cts"""),
    ),
)
