"""Where a repository writes down its convention for titles: the configuration of commitlint, the step of
action-semantic-pull-request in a workflow, and `.github/semantic.yml` of the app semantic-pull-requests.

Their readers run in the child of `bot/parsing`: standard library and PyYAML only. A configuration that is a program is
never run: its object is read as a flow mapping of YAML, which it is if it computes nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from bot.parsing.child import yaml_texts
from bot.publish.convention.form import CAPITAL, SMALL, TYPES, Convention

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
    """Return the conventions in the files of `request`, texts by path as JSON, as lists of their fields; and a sentence
    for each file that cannot be read."""
    conventions, problems = [], []
    for path, text in json.loads(request).items():
        try:
            conventions += [asdict(one) for one in _read(path, text)]
        except Exception as error:  # noqa: BLE001  Parsers raise classes of their own.
            reason = " ".join(str(error).split())[:200]
            problems.append(f"The convention for titles in {path} is not read: {reason}.")
    return [conventions, problems]


def _read(path: str, text: str) -> Iterable[Convention]:
    if WORKFLOW.fullmatch(path):
        return _of_workflow(path, yaml_texts(text))
    if SEMANTIC.fullmatch(path):
        return _of_app(path, _checked(yaml_texts(text) or {}))
    if re.search(r"\.[cm]?[jt]s$", path):
        return [_of_commitlint(path, _checked(yaml_texts(_object(text))))]
    data = json.loads(text) if path.endswith(".json") else yaml_texts(text)
    if COMMITLINT.fullmatch(path):
        return [_of_commitlint(path, _checked(data))]
    own = _mapping(data).get("commitlint")  # a key of a manifest
    return [_of_commitlint(path, own)] if isinstance(own, dict) else []


def _of_workflow(path: str, workflow: Any) -> Iterator[Convention]:
    for job in _mapping(_mapping(workflow).get("jobs")).values():
        for step in _mapping(job).get("steps") or ():
            if not _ACTION.match(str(_mapping(step).get("uses") or "")):
                continue
            given = {
                name: str(one) for name, one in _mapping(step.get("with")).items() if "${{" not in str(one)
            }
            if given.get("headerPattern"):
                raise ValueError("its headerPattern is a form of its own")
            pattern = given.get("subjectPattern", "")
            re.compile(pattern)
            yield Convention(
                path,
                types=_names(given.get("types", "").splitlines()) or TYPES,
                scopes=_scopes(given.get("scopes", "").splitlines()),
                refused=_scopes(given.get("disallowScopes", "").splitlines()),
                scope="always" if given.get("requireScope", "").lower() == "true" else "",
                subjects=(pattern,) if pattern else (),
            )


def _of_app(path: str, settings: Mapping[str, Any]) -> Iterator[Convention]:
    if str(settings.get("enabled", "true")).lower() != "false":
        scopes = tuple(map(re.escape, _scopes(_texts(settings.get("scopes")))))
        yield Convention(path, types=_names(_texts(settings.get("types"))) or TYPES, scopes=scopes)


_COMMENT = re.compile(r"(?<![:'\"\w])//[^\n]*|/\*.*?\*/", re.DOTALL)
_EXPORTED = (
    re.compile(r"(?:module\.exports\s*=|\bexport\s+default)\s*(?:\w+\()?(?=\{)"),
    re.compile(r"=\s*(?:\w+\()?(?=\{)"),
)


def _object(program: str) -> str:
    """Return the object that a program exports."""
    code = _COMMENT.sub("", program)
    start = next((match.end() for pattern in _EXPORTED if (match := pattern.search(code))), None)
    if start is None:
        raise ValueError("it exports no object")
    depth = 0
    for end, character in enumerate(code[start:], start + 1):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if not depth:
            return code[start:end]
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
        return (
            "" if re.search(r"^0$|Disabled$", str(rule[0])) else str(rule[1]) if len(rule) > 1 else "always"
        )

    def values(name: str) -> list[str]:
        return _texts(rules[name][2]) if len(rules.get(name, ())) > 2 else []

    def number(name: str) -> int:
        given = [int(one) for one in values(name) if one.isdecimal()]
        return (given[0] if given else 100) if when(name, "always") else 0

    def listed(name: str) -> list[str]:
        """The values of a list that is spelled out, and not computed."""
        return values(name) if isinstance(rules.get(name, [None])[-1], list) else []

    scopes = tuple(map(re.escape, _scopes(listed("scope-enum"))))
    cases = tuple(_cases(when("subject-case", "never"), values("subject-case")))
    return Convention(
        path,
        types=(_names(listed("type-enum")) if when("type-enum") == "always" else ()) or TYPES,
        scopes=scopes if when("scope-enum") == "always" else (),
        refused=scopes if when("scope-enum") == "never" else (),
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


def _checked(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("it holds no mapping")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value] if value else []
    return [str(one) for one in values if not isinstance(one, dict | list)]


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for value in values if _NAME.fullmatch(one := value.strip()))[:_MOST]


def _scopes(values: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes, each a pattern that can be compiled."""
    scopes = tuple(one for value in values if _SCOPE.fullmatch(one := value.strip()))[:_MOST]
    for scope in scopes:
        re.compile(scope)
    return scopes
