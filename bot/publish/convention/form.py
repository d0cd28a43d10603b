"""The form of titles, and the nearest title that has it: Conventional Commits 1.0.0, `type(scope)!: subject`, with
the limits of its sources (`from_files.py`, `from_history.py`).

This runs in the child of `bot/parsing`, with its limits, since the patterns are the repository's: standard library and
PyYAML only.
"""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import PurePosixPath
from typing import Literal, NamedTuple

TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
_QUOTED = r"(?:`[^`]*`\s*|\"[^\"]*\"\s*|'[^']*'\s*)*"
SMALL, CAPITAL = rf"{_QUOTED}(?![A-Z]).*", rf"{_QUOTED}(?![a-z]).*"
"""Patterns of a subject that begins with a small letter or a capital one, quoted names aside."""
LONGEST = 120
"""Characters of a title; the model is asked for fewer (`submission_tools.py`)."""

HEADER = re.compile(r"(\w+)(?:\(([^()]*)\))?(!)?: +(\S.*)")
_ALIASES = {"feature": "feat", "bugfix": "fix", "maintenance": "chore"}
_ADDS = re.compile(r"(?:add|allow|enable|implement|introduce|support)\b", re.IGNORECASE)
# A type by what all changed files are.
_KINDS = {"docs": r"\.(?:md|rst|adoc|txt)$", "test": r"(?:^|[_./-])tests?(?:[_./-]|$)", "ci": r"^\.github/"}
_TRIED = 5


class Convention(NamedTuple):
    """One source's rules. `scopes` are patterns that match a scope as a whole; without them any will do. `subjects` are
    patterns that each match the whole subject. `longest` counts characters of a title, `body_width` those of a line of
    a commit's body; 0 is no limit. `header` is a pattern of titles in another form, which alone counts then."""

    source: str
    types: tuple[str, ...] = TYPES
    scopes: tuple[str, ...] = ()
    scope: Literal["", "always", "never"] = ""
    subjects: tuple[str, ...] = ()
    longest: int = 0
    body_width: int = 0
    header: str = ""

    def accepts(self, title: str) -> bool:
        if self.longest and len(title) > self.longest:
            return False
        if self.header:
            return re.search(self.header, title) is not None
        header = HEADER.fullmatch(title)
        if header is None:
            return False
        kind, scope, _, subject = header.groups()
        # The first match has to be the whole subject, as the readers of these patterns check it.
        matches = (re.search(pattern, subject) for pattern in self.subjects)
        is_formed = all(match is not None and match[0] == subject for match in matches)
        return is_formed and kind in self.types and self.takes_scope(scope or "")

    def takes_scope(self, given: str) -> bool:
        """Whether a title may have this scope, or these; an empty one is none."""
        if not given or self.scope == "never":
            return not given and self.scope != "always"
        each = [one for one in re.split(r"[,/\\] *", given) if one]
        return not self.scopes or all(any(re.fullmatch(scope, one) for scope in self.scopes) for one in each)


def mended(conventions: Sequence[Convention], title: str, paths: Sequence[str]) -> str:
    """Return the nearest title to `title` that all conventions accept; empty if there is none. `paths` are changed."""
    if all(one.accepts(title) for one in conventions):
        return title
    kinds, scopes, mark, subject = _parts(conventions, title, paths)
    longest = min([one.longest for one in conventions if one.longest], default=LONGEST)
    kinds = [kind for kind in kinds if all(kind in one.types for one in conventions)]
    scopes = [scope for scope in scopes if all(one.takes_scope(scope) for one in conventions)]
    plain = subject.strip().rstrip(".").rstrip() or subject
    first, space, rest = plain.partition(" ")
    small = first.lower() if first.isupper() else first[:1].lower() + first[1:]
    capital = plain[:1].upper() + plain[1:]
    subjects = _once([subject, plain, small + space + rest, capital, plain.lower()])
    for text, kind, scope in product(subjects, kinds[:_TRIED], scopes[:_TRIED]):
        head = f"{kind}({scope}){mark}: " if scope else f"{kind}{mark}: "
        candidate = head + _cut(text, longest - len(head))
        if all(one.accepts(candidate) for one in conventions):
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
    by_files = [one for one, of in _KINDS.items() if paths and all(re.search(of, path) for path in paths)]
    adds = ["feat"] if _ADDS.match(subject) else []
    return _once([*known, *by_files, *adds, "fix", "chore", *types]), _once(scopes), mark or "", subject


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
