"""Where a repository writes down its convention for titles: the configuration of commitlint, the step of
action-semantic-pull-request in a workflow, and `.github/semantic.yml` of the app semantic-pull-requests.

Their readers run in the child of `bot/parsing`: standard library and PyYAML only. Configurations that are programs are
read as text, and never run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
        return _of_app(path, yaml_texts(text))
    if re.search(r"\.[cm]?[jt]s$", path):
        return [_of_program(path, text)]
    data = json.loads(text) if path.endswith(".json") else yaml_texts(text)
    if not COMMITLINT.fullmatch(path):
        data = _mapping(data).get("commitlint")  # a key of a manifest
        return [_of_commitlint(path, data)] if isinstance(data, dict) else []
    if not isinstance(data, dict):
        raise ValueError("it holds no mapping")
    return [_of_commitlint(path, data)]


def _of_workflow(path: str, workflow: Any) -> Iterator[Convention]:
    for job in _mapping(_mapping(workflow).get("jobs")).values():
        for step in _mapping(job).get("steps") or ():
            if _ACTION.match(str(_mapping(step).get("uses") or "")):
                given = {
                    name: str(one)
                    for name, one in _mapping(step.get("with")).items()
                    if "${{" not in str(one)
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


def _of_app(path: str, data: Any) -> Iterator[Convention]:
    settings = _mapping(data)
    if data and not settings:
        raise ValueError("it holds no mapping")
    if str(settings.get("enabled", "true")).lower() != "false":
        scopes = tuple(map(re.escape, _scopes(_texts(settings.get("scopes")))))
        yield Convention(path, types=_names(_texts(settings.get("types"))) or TYPES, scopes=scopes)


def _of_commitlint(path: str, data: Mapping[str, Any]) -> Convention:
    rules = {name: _texts(rule) for name, rule in _mapping(data.get("rules")).items()}
    values = {name: _texts(rule[2]) for name, rule in _mapping(data.get("rules")).items() if _has_value(rule)}
    return _of_rules(path, bool(data.get("extends")), rules, values)


def _has_value(rule: Any) -> bool:
    return isinstance(rule, list) and len(rule) > 2


_COMMENT = re.compile(r"(?<![:'\"\w])//[^\n]*|/\*.*?\*/", re.DOTALL)
_RULE = re.compile(r"['\"]?([a-z]+(?:-[a-z]+)+)['\"]?\s*:\s*\[")
_VALUE = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"|\b(\d+)\b|\b\w+\.(Disabled|Warning|Error)\b")


def _of_program(path: str, text: str) -> Convention:
    """Read the literal rules of a configuration that is a program."""
    code = _COMMENT.sub("", text)
    if not re.search(r"module\.exports|export\s+default|extends|rules", code):
        raise ValueError("it exports no configuration")
    rules: dict[str, Sequence[str]] = {}
    values: dict[str, Sequence[str]] = {}
    for rule in _RULE.finditer(code):
        inside = _bracketed(code, rule.end())
        level, *rest = ["".join(groups) for groups in _VALUE.findall(inside)] or [""]
        level = {"Disabled": "0", "Warning": "1", "Error": "2"}.get(level, level)
        rules[rule[1]], values[rule[1]] = [level, *rest[:1]], rest[1:]
    return _of_rules(path, re.search(r"\bextends\b", code) is not None or not rules, rules, values)


def _bracketed(code: str, begin: int) -> str:
    """Return the text up to the bracket that closes the one before `begin`."""
    depth = 1
    for end in range(begin, len(code)):
        depth += {"[": 1, "]": -1}.get(code[end], 0)
        if not depth:
            return code[begin:end]
    raise ValueError("a bracket is not closed")


def _of_rules(
    path: str, is_extended: bool, rules: Mapping[str, Sequence[str]], values: Mapping[str, Sequence[str]]
) -> Convention:
    """Return the rules of commitlint, with those of its conventional configuration if another is extended."""

    def when(name: str, usual: str) -> str:
        """`always`, `never`, or empty for a rule that is off; `usual` is that of the conventional configuration."""
        rule = rules.get(name)
        if rule is None:
            return usual if is_extended else ""
        return "" if rule[0] == "0" else rule[1] if len(rule) > 1 else "always"

    def number(name: str, usual: int) -> int:
        given = [int(one) for one in values.get(name, ()) if one.isdecimal()]
        return (given[0] if given else usual) if when(name, "always") else 0

    types = _names(values.get("type-enum", ())) if when("type-enum", "always") == "always" else ()
    scope = when("scope-empty", "")
    scopes = _scopes(values.get("scope-enum", ())) if when("scope-enum", "") else ()
    patterns = tuple(map(re.escape, scopes))
    return Convention(
        path,
        types=types or TYPES,
        scopes=patterns if when("scope-enum", "") == "always" else (),
        refused=patterns if when("scope-enum", "") == "never" else (),
        scope="" if not scope else "always" if scope == "never" else "never",
        subjects=(*_cases(when("subject-case", "never"), values.get("subject-case", ())), *_stops(when)),
        longest=number("header-max-length", 100),
        body_width=number("body-max-line-length", 100),
    )


def _cases(when: str, cases: Sequence[str]) -> Iterator[str]:
    capital = {"sentence-case", "sentencecase", "start-case", "pascal-case", "upper-case", "uppercase"}
    if when == "never" and (not cases or capital & set(cases)):
        yield SMALL
    elif when == "never" or (when == "always" and capital & set(cases)):
        yield CAPITAL
    elif when == "always":
        yield SMALL if "camel-case" in cases else r"[^A-Z]*"


def _stops(when: Any) -> Iterator[str]:
    if when("subject-full-stop", "never") == "never":
        yield r".*[^.]"


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
