"""Where a repository writes down what a title has to be: the configuration of commitlint, the step of
action-semantic-pull-request in a workflow, and `.github/semantic.yml` of the app semantic-pull-requests.

This runs in the child of `bot/parsing`, as `form.py` does.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from bot.ecosystems.checker import Table, table
from bot.parsing.child import yaml_texts
from bot.publish.convention.form import CAPITAL, SMALL, TYPES, Convention

_COMMENT = re.compile(r"(?<![:'\"\w])//[^\n]*|/\*.*?\*/", re.DOTALL)
_EXPORTED = re.compile(r"(?:module\.exports\s*=|\bexport\s+default)\s*(?:\w+\()?(?=\{)")
_ASSIGNED = re.compile(r"=\s*(?=\{)")

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
    for job in table(workflow, "jobs").values():
        for step in table(job).get("steps") or ():
            if not _ACTION.match(str(table(step).get("uses") or "")):
                continue
            inputs = {name: str(one) for name, one in table(step, "with").items() if "${{" not in str(one)}
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


def _of_app(path: str, settings: Table) -> Iterator[Convention]:
    if str(settings.get("enabled", "true")).lower() != "false":
        types, scopes = (map(str, settings.get(name) or ()) for name in ("types", "scopes"))
        yield Convention(path, types=_names(types) or TYPES, scopes=tuple(map(re.escape, _scopes(scopes))))


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


def _of_commitlint(path: str, data: Table) -> Convention:
    """Return the rules of commitlint, with those of its conventional configuration if another is extended."""
    rules = {name: rule if isinstance(rule, list) else [rule] for name, rule in table(data, "rules").items()}

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


def _names(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(one for value in values if _NAME.fullmatch(one := value.strip()))[:_MOST]


def _scopes(values: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes, each a pattern that can be compiled."""
    scopes = tuple(one for value in values if _SCOPE.fullmatch(one := value.strip()))[:_MOST]
    for scope in scopes:
        re.compile(scope)
    return scopes
