"""The form of titles: what a title has to be, and the nearest title that is. Standard library only: patterns of the
repository are applied in the child of `bot/parsing`, with its limits.

The form is that of Conventional Commits 1.0.0, `type(scope)!: subject`, with the limits of the source.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath
from typing import Literal

HEADER = re.compile(r"(\w+)(?:\(([^()]*)\))?(!)?: +(\S.*)")
TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
QUOTED = r"(?:`[^`]*`\s*|\"[^\"]*\"\s*|'[^']*'\s*)*"
SMALL, CAPITAL = rf"{QUOTED}(?![A-Z]).*", rf"{QUOTED}(?![a-z]).*"
"""Patterns of a subject that begins with a small letter or a capital one, quoted names aside."""

_ALIASES = {
    "feature": "feat",
    "bugfix": "fix",
    "bug": "fix",
    "hotfix": "fix",
    "doc": "docs",
    "tests": "test",
    "performance": "perf",
    "maintenance": "chore",
}
# By the first word of a subject; of other changes the request is to mend something.
_WORDS = {
    "feat": "add allow enable implement introduce let offer provide support",
    "docs": "document explain",
    "refactor": "extract inline move refactor rename reorganise reorganize simplify split",
    "perf": "accelerate cache speed",
    "test": "test cover",
    "chore": "bump maintenance update upgrade",
    "revert": "revert",
}
_DOCS = (".md", ".rst", ".adoc", ".txt")
_TRIED = 5
LONGEST = 120


@dataclass(frozen=True, slots=True)
class Convention:
    """One source's rules. `scopes` and `refused` are patterns that match a scope as a whole; without `scopes` any will
    do. `subjects` are patterns that each match the whole subject. `longest` counts characters of a title, `body_width`
    those of a line of a commit's body; 0 is no limit."""

    source: str
    types: tuple[str, ...] = TYPES
    scopes: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    scope: Literal["", "always", "never"] = ""
    subjects: tuple[str, ...] = ()
    longest: int = 0
    body_width: int = 0

    def problem(self, title: str) -> str:
        """Return a clause why the source refuses `title`; empty if it does not."""
        header = HEADER.fullmatch(title)
        if header is None:
            return "it is not of the form `type(scope): subject`"
        kind, scope, _, subject = header.groups()
        if kind not in self.types:
            return f"its type is not one of {', '.join(self.types)}"
        if not self.takes_scope(scope or ""):
            return f"the scope {scope} is refused" if scope else "it has no scope"
        if not all(_matches_whole(pattern, subject) for pattern in self.subjects):
            return "its subject does not match the pattern"
        if self.longest and len(title) > self.longest:
            return f"it is longer than {self.longest} characters"
        return ""

    def takes_scope(self, scope: str) -> bool:
        """Whether a title may have this scope, or these; an empty one is none."""
        if not scope or self.scope == "never":
            return not scope and self.scope != "always"
        each = [one for one in re.split(r"[,/\\] *", scope) if one]
        return all(
            (not self.scopes or _any_matches(self.scopes, one)) and not _any_matches(self.refused, one)
            for one in each
        )


def _any_matches(patterns: Iterable[str], text: str) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def _matches_whole(pattern: str, text: str) -> bool:
    """Whether the first match is the whole text, as the readers of these patterns check it."""
    match = re.search(pattern, text)
    return match is not None and match.group() == text


def mended(conventions: Sequence[Convention], title: str, paths: Sequence[str]) -> str:
    """Return `title` if no convention refuses it, else the nearest title that none refuses; empty if there is none.
    `paths` are the changed files."""
    kinds, scopes, mark, subject = _parts(conventions, title, paths)
    longest = min([one.longest for one in conventions if one.longest], default=LONGEST)
    kinds = [kind for kind in kinds if all(kind in one.types for one in conventions)]
    scopes = [scope for scope in scopes if all(one.takes_scope(scope) for one in conventions)]
    for text, kind, scope in product(_subjects(subject), kinds[:_TRIED], scopes[:_TRIED]):
        head = f"{kind}({scope}){mark}: " if scope else f"{kind}{mark}: "
        candidate = title if f"{head}{text}" == title else head + _cut(text, longest - len(head))
        if not any(one.problem(candidate) for one in conventions):
            return candidate
    return ""


def _parts(
    conventions: Sequence[Convention], title: str, paths: Sequence[str]
) -> tuple[list[str], list[str], str, str]:
    """Return the types and the scopes to try, each in order; the mark of a breaking change; and the subject."""
    types = [kind for one in conventions for kind in one.types]
    literal = [scope for one in conventions for scope in one.scopes if re.fullmatch(r"[\w-]+", scope)]
    header = HEADER.fullmatch(title)
    kind, scope, mark, subject = header.groups() if header else ("", "", "", title)
    lowered = kind.lower()
    known = [one for one in (kind, lowered, _ALIASES.get(lowered, "")) if one in types]
    if header and not known and lowered not in (*TYPES, *_ALIASES):
        scope = scope or lowered  # of `parser: take empty lines`
    named = [part for path in paths for part in (PurePosixPath(path).stem, *PurePosixPath(path).parts[:-1])]
    of_paths = [one for one in named if re.fullmatch(r"[\w-]+", one)]
    scopes = [scope or "", "", *of_paths, *map(str.lower, of_paths), *literal]
    kinds = [*known, *_guesses(subject, paths), *types]
    return _once(kinds), _once(scopes), mark or "", subject


def _guesses(subject: str, paths: Sequence[str]) -> Iterator[str]:
    files = [PurePosixPath(path) for path in paths]
    if files and all(file.suffix in _DOCS for file in files):
        yield "docs"
    if files and all(re.search(r"(?:^|[_./-])tests?(?:[_./-]|$)", str(file)) for file in files):
        yield "test"
    if files and all(file.parts[0] == ".github" for file in files):
        yield "ci"
    first = subject.split(" ", 1)[0].lower().strip(":,")
    yield from (kind for kind, words in _WORDS.items() if first in words.split())
    yield from ("fix", "chore")


def _subjects(subject: str) -> list[str]:
    plain = subject.strip().rstrip(".").rstrip() or subject
    first, space, rest = plain.partition(" ")
    small = first.lower() if first.isupper() else first[:1].lower() + first[1:]
    return _once([subject, plain, small + space + rest, plain[:1].upper() + plain[1:], plain.lower()])


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else (text[: room + 1].rpartition(" ")[0] or text[:room]).rstrip(" ,;:-")


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def mend_text(request: str) -> str:
    """`mended` for `bot.parsing.parser`: of and as JSON."""
    conventions, title, paths = json.loads(request)
    return mended([of_json(one) for one in conventions], title, paths)


def of_json(value: dict[str, object]) -> Convention:
    """Return a convention from its fields, whose lists JSON does not tell from tuples."""
    return Convention(**{name: tuple(one) if isinstance(one, list) else one for name, one in value.items()})  # type: ignore[arg-type]  # the child made it of a Convention


def observed(subjects: Sequence[str], least: int = 18, of: int = 20) -> Convention | None:
    """Return the convention that the newest `subjects` follow if `least` of `of` do, or that share of fewer."""
    newest = subjects[:of]
    headers = [header for one in newest if (header := HEADER.fullmatch(one)) and header[1].lower() in TYPES]
    if len(newest) < of // 2 or len(headers) * of < least * len(newest):
        return None

    def most(count: int) -> bool:
        return count * of >= least * len(headers)

    small = sum(header[4][0].islower() for header in headers)
    capital = sum(header[4][0].isupper() for header in headers)
    return Convention(
        "",
        types=tuple(_once([header[1] for header in headers] + list(TYPES))),
        scope="always" if most(sum(bool(header[2]) for header in headers)) else "",
        subjects=(SMALL,) if most(small) else (CAPITAL,) if most(capital) else (),
        longest=max(100, *(len(one) for one in newest)) if newest else 0,
    )
