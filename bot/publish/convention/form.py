"""The form of titles: where a repository writes down what a title has to be, and the nearest title that is.

The form is that of Conventional Commits 1.0.0, `type(scope)!: subject`, with the limits of its sources: the
configuration of commitlint, the step of action-semantic-pull-request in a workflow, and `.github/semantic.yml` of the
app semantic-pull-requests. This runs in the child of
`bot/parsing`, with its limits, since the patterns are the repository's: standard library and PyYAML only.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

from bot.parsing.child import yaml_texts

TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
_QUOTED = r"(?:`[^`]*`\s*|\"[^\"]*\"\s*|'[^']*'\s*)*"
SMALL, CAPITAL = rf"{_QUOTED}(?![A-Z]).*", rf"{_QUOTED}(?![a-z]).*"
"""Patterns of a subject that begins with a small letter or a capital one, quoted names aside."""
LONGEST = 120
"""Characters of a title; the model is asked for fewer (`submission_tools.py`)."""

_HEADER = re.compile(r"(\w+)(?:\(([^()]*)\))?(!)?: +(\S.*)")
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
        header = _HEADER.fullmatch(title)
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
    for text, kind, scope in product(_subjects(subject), kinds[:_TRIED], scopes[:_TRIED]):
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
    header = _HEADER.fullmatch(title)
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


def observed(subjects: Sequence[str]) -> Convention | None:
    """Return the convention that 18 of the 20 newest `subjects` follow, or that share of at least ten."""
    newest = subjects[:20]
    headers = [header for one in newest if (header := _HEADER.fullmatch(one)) and header[1].lower() in TYPES]

    def most(count: int, of: Sequence[object]) -> bool:
        return count * 20 >= 18 * len(of)

    if len(newest) < 10 or not most(len(headers), newest):
        return None
    small = sum(header[4][0].islower() for header in headers)
    return Convention(
        "",
        types=tuple(_once([header[1] for header in headers] + list(TYPES))),
        scope="always" if most(sum(bool(header[2]) for header in headers), headers) else "",
        subjects=(SMALL,) if most(small, headers) else (),
        longest=max(100, *map(len, newest)),
    )


# Where a repository writes it down

COMMITLINT = re.compile(r"(?:\.config/)?(?:\.commitlintrc|commitlint\.config)(?:\.[a-z]{1,4})?")
SEMANTIC = re.compile(r"\.github/semantic\.ya?ml")
WORKFLOW = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
WORD = re.compile(r"action-semantic-pull-request|commitlint")
"""A word of each workflow and manifest that has a convention."""

_ACTION = re.compile(r"[\w.-]+/action-semantic-pull-request(?:@|$)")
_NAME = re.compile(r"\w{1,40}")
_SCOPE = re.compile(r"[^\x00-\x1f`,;<>@#]{1,80}")
_MOST = 200


def read_text(request: str) -> list[Any]:
    """Return the conventions in files, texts by path as JSON, and a sentence for each file that cannot be read."""
    conventions, problems = [], []
    for path, text in json.loads(request).items():
        try:
            conventions += [one._asdict() for one in _read(path, text)]
        except Exception as error:  # noqa: BLE001  Parsers raise classes of their own.
            reason = " ".join(str(error).split())[:200]
            problems.append(f"The convention for titles in {path} is not read: {reason}.")
    return [conventions, problems]


def _read(path: str, text: str) -> Iterable[Convention]:
    if WORKFLOW.fullmatch(path):
        return _of_workflow(path, yaml_texts(text))
    if re.search(r"\.[cm]?[jt]s$", path):
        text = _exported(text)
    data = json.loads(text) if path.endswith(".json") else yaml_texts(text)
    if not isinstance(data, dict):
        raise ValueError("it holds no mapping")
    if SEMANTIC.fullmatch(path):
        return _of_app(path, data)
    own = data if COMMITLINT.fullmatch(path) else data.get("commitlint")  # a key of a manifest
    return [_of_commitlint(path, own)] if isinstance(own, dict) else []


def _of_workflow(path: str, workflow: Any) -> Iterator[Convention]:
    for job in _mapping(_mapping(workflow).get("jobs")).values():
        for step in _mapping(job).get("steps") or ():
            if not _ACTION.match(str(_mapping(step).get("uses") or "")):
                continue
            inputs = {
                name: str(one) for name, one in _mapping(step.get("with")).items() if "${{" not in str(one)
            }
            pattern, header = inputs.get("subjectPattern", ""), inputs.get("headerPattern", "")
            re.compile(pattern)
            re.compile(header)
            yield Convention(
                path,
                types=_names(inputs.get("types", "").splitlines()) or TYPES,
                scopes=_scopes(inputs.get("scopes", "").splitlines()),
                scope="always" if inputs.get("requireScope", "").lower() == "true" else "",
                subjects=(pattern,) if pattern else (),
                header=header,
            )


def _of_app(path: str, settings: Mapping[str, Any]) -> Iterator[Convention]:
    if str(settings.get("enabled", "true")).lower() != "false":
        types, scopes = (map(str, settings.get(name) or ()) for name in ("types", "scopes"))
        yield Convention(path, types=_names(types) or TYPES, scopes=tuple(map(re.escape, _scopes(scopes))))


_COMMENT = re.compile(r"(?<![:'\"\w])//[^\n]*|/\*.*?\*/", re.DOTALL)
_EXPORTED = re.compile(r"(?:module\.exports\s*=|\bexport\s+default)\s*(?:\w+\()?(?=\{)")
_ASSIGNED = re.compile(r"=\s*(?=\{)")


def _exported(program: str) -> str:
    """Return the object that a program exports, else the first one that it assigns. Its literals are YAML as well."""
    code = _COMMENT.sub("", program)
    begin = _EXPORTED.search(code) or _ASSIGNED.search(code)
    if begin is None:
        raise ValueError("it exports no object")
    depth = 0
    for end, character in enumerate(code[begin.end() :], begin.end() + 1):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if not depth:
            return code[begin.end() : end]
    raise ValueError("a brace is not closed")


def _of_commitlint(path: str, data: Mapping[str, Any]) -> Convention:
    """Return the rules of commitlint, with those of its conventional configuration if another is extended."""
    rules = {
        name: rule if isinstance(rule, list) else [rule] for name, rule in _mapping(data.get("rules")).items()
    }

    def when(name: str, usual: str = "") -> str:
        """`always`, `never`, or empty for a rule that is off; `usual` is that of the conventional configuration."""
        rule = rules.get(name)
        if rule is None:
            return usual if data.get("extends") else ""
        return "" if str(rule[0]) == "0" else str(rule[1]) if len(rule) > 1 else "always"

    def values(name: str) -> list[str]:
        value = rules[name][2] if len(rules.get(name, ())) > 2 else []
        return [str(one) for one in (value if isinstance(value, list) else [value])]

    def number(name: str) -> int:
        numbers = [int(one) for one in values(name) if one.isdecimal()]
        return (numbers[0] if numbers else 100) if when(name, "always") else 0

    cases = tuple(_cases(when("subject-case", "never"), values("subject-case")))
    return Convention(
        path,
        types=(_names(values("type-enum")) if when("type-enum") == "always" else ()) or TYPES,
        scopes=tuple(map(re.escape, _scopes(values("scope-enum")))) if when("scope-enum") == "always" else (),
        scope={"never": "always", "always": "never"}.get(when("scope-empty"), ""),  # type: ignore[arg-type]  # one of three
        subjects=(*cases, *([r".*[^.]"] if when("subject-full-stop", "never") == "never" else [])),
        longest=number("header-max-length"),
        body_width=number("body-max-line-length"),
    )


def _cases(when: str, cases: list[str]) -> Iterator[str]:
    has_capital = not cases or any(re.match("sentence|start|pascal|upper", case) for case in cases)
    if when == "never":
        yield SMALL if has_capital else CAPITAL
    elif when == "always":
        yield CAPITAL if has_capital else SMALL if "camel-case" in cases else r"[^A-Z]*"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for value in values if _NAME.fullmatch(one := value.strip()))[:_MOST]


def _scopes(values: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes, each a pattern that can be compiled."""
    scopes = tuple(one for value in values if _SCOPE.fullmatch(one := value.strip()))[:_MOST]
    for scope in scopes:
        re.compile(scope)
    return scopes
