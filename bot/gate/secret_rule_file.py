"""Read a repository's own secret rules in the TOML format of gitleaks: each `[[rules]]` has an `id`, a `regex` and
conditions. The file comes from the base commit; every mistake is an error with its line. google-re2 compiles the
expressions, so that no rule can make a search slow.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import re2

from bot.contracts.errors import UsageError
from bot.gate.secrets import Rule, Span
from bot.parsing.parser import ParseError, Parser

_MOST_BYTES = 1 << 18
_MOST_RULES = 300
_LONGEST_REGEX = 4_000
_MEMORY = 1 << 24
_TOP = {"title", "rules", "allowlist", "allowlists"}
_OF_RULE = {
    "id",
    "description",
    "regex",
    "keywords",
    "entropy",
    "secretGroup",
    "tags",
    "allowlist",
    "allowlists",
}
_OF_ALLOWLIST = {"description", "regexes", "stopwords", "regexTarget", "targetRules"}


class RuleFileError(UsageError):
    """The rule file is invalid: `FILE:LINE: problem and remedy`."""


@dataclass(frozen=True, slots=True)
class _Allowed:
    """Exceptions from a rule: an expression on the secret, the match or its line, or a word in the secret."""

    regexes: tuple[Any, ...]
    stopwords: tuple[bytes, ...]
    target: str

    def __call__(self, secret: bytes, match: bytes, line: bytes) -> bool:
        on = {"secret": secret, "match": match, "line": line}[self.target]
        return any(regex.search(on) for regex in self.regexes) or any(
            word in secret.lower() for word in self.stopwords
        )


@dataclass(frozen=True, slots=True)
class FileRule:
    """One rule. A call with a text yields the matches in it."""

    name: str
    regex: Any
    group: int
    keywords: tuple[bytes, ...]
    entropy: float
    allowed: tuple[_Allowed, ...]

    def __call__(self, data: bytes) -> Iterator[Span]:
        if self.keywords:
            lower = data.lower()
            if not any(word in lower for word in self.keywords):
                return
        for match in self.regex.finditer(data):
            group = self.group or (1 if match.re.groups else 0)
            start, end = match.span(group)
            if start < 0:
                start, end = match.span()
            secret = data[start:end]
            if not secret or (self.entropy and entropy(secret) <= self.entropy):
                continue
            line = data[data.rfind(b"\n", 0, start) + 1 : (data.find(b"\n", end) + 1 or len(data) + 1) - 1]
            if not any(allowed(secret, match.group(), line) for allowed in self.allowed):
                yield Span(start, end, self.name)


def entropy(data: bytes) -> float:
    """Return the Shannon entropy in bits per byte."""
    return -sum(count / len(data) * math.log2(count / len(data)) for count in Counter(data).values())


def read_rules(text: str, path: str) -> tuple[Rule, ...]:
    """Return the rules of a file's `text`; `path` is its name in errors. Raises `RuleFileError`."""
    if len(text) > _MOST_BYTES:
        raise RuleFileError(f"{path}: {len(text)} characters are too many; at most {_MOST_BYTES} are read.")
    try:
        with Parser() as parser:
            parsed = parser.parse(tomllib.loads, text)
    except ParseError as error:
        position = re.search(r"\(at line (\d+)", str(error))
        raise RuleFileError(f"{path}:{position[1] if position else 1}: {error}.") from error
    return _RuleReader(text, path).rules(parsed)


class _RuleReader:
    """Reads rules, and finds the lines of errors, which `tomllib` does not report."""

    def __init__(self, text: str, path: str) -> None:
        self._lines = text.splitlines()
        self._path = path
        self._starts = [n for n, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*rules\s*\]\]", line)]

    def rules(self, parsed: Mapping[str, Any]) -> tuple[Rule, ...]:
        self._known(parsed, _TOP, None)
        listed = parsed.get("rules", [])
        if not (isinstance(listed, list) and listed and all(isinstance(rule, dict) for rule in listed)):
            raise self._error(None, "", "there are no rules; each begins with [[rules]]")
        if len(listed) > _MOST_RULES:
            raise self._error(None, "", f"{len(listed)} rules are too many; at most {_MOST_RULES} are read")
        for_all = self._allowlists(parsed, None)
        names = Counter(str(rule.get("id")) for rule in listed)
        return tuple(self._rule(rule, number, for_all, names) for number, rule in enumerate(listed))

    def _rule(
        self, rule: Mapping[str, Any], number: int, for_all: tuple[_Allowed, ...], names: Counter[str]
    ) -> FileRule:
        self._known(rule, _OF_RULE, number)
        name = self._text(rule, "id", number)
        if names[name] > 1:
            raise self._error(number, "id", f"two rules are called {name!r}")
        regex = self._compiled(self._text(rule, "regex", number), number, "regex")
        group = rule.get("secretGroup", 0)
        if type(group) is not int or not 0 <= group <= regex.groups:
            raise self._error(
                number, "secretGroup", f"the expression has {regex.groups} groups, and {group!r} is none"
            )
        bits = rule.get("entropy", 0)
        if type(bits) not in (int, float) or not 0 <= bits <= 8:
            raise self._error(number, "entropy", f"{bits!r} is not a number from 0 to 8")
        keywords = self._texts(rule, "keywords", number)
        allowed = (*for_all, *self._allowlists(rule, number))
        return FileRule(
            name, regex, group, tuple(word.lower().encode() for word in keywords), float(bits), allowed
        )

    def _allowlists(self, table: Mapping[str, Any], number: int | None) -> tuple[_Allowed, ...]:
        allowlists = table.get("allowlists", [])
        listed = [
            *(allowlists if isinstance(allowlists, list) else [allowlists]),
            *([table["allowlist"]] if "allowlist" in table else []),
        ]
        return tuple(self._allowlist(each, number) for each in listed)

    def _allowlist(self, table: Any, number: int | None) -> _Allowed:
        if not isinstance(table, Mapping):
            raise self._error(number, "allowlists", "an allowlist is a table")
        self._known(table, _OF_ALLOWLIST, number)
        target = table.get("regexTarget", "secret")
        if target not in ("secret", "match", "line"):
            raise self._error(number, "regexTarget", f"{target!r} is none of secret, match, line")
        regexes = (self._compiled(each, number, "regexes") for each in self._texts(table, "regexes", number))
        words = (word.lower().encode() for word in self._texts(table, "stopwords", number))
        return _Allowed(tuple(regexes), tuple(words), target)

    def _compiled(self, expression: str, number: int | None, key: str) -> Any:
        if len(expression) > _LONGEST_REGEX:
            raise self._error(
                number, key, f"an expression of {len(expression)} characters; at most {_LONGEST_REGEX}"
            )
        options = re2.Options()
        options.max_mem = _MEMORY
        options.log_errors = False
        try:
            return re2.compile(expression.encode(), options)
        except re2.error as error:
            message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
            raise self._error(number, key, f"google-re2 does not take this expression: {message}") from error

    def _known(self, table: Mapping[str, Any], known: set[str], number: int | None) -> None:
        for key in table:
            if key not in known:
                raise self._error(
                    number, key, f"{key!r} is not known here; known are {', '.join(sorted(known))}"
                )

    def _text(self, table: Mapping[str, Any], key: str, number: int) -> str:
        value = table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._error(number, key, f"each rule needs {key!r}, a text")
        return value

    def _texts(self, table: Mapping[str, Any], key: str, number: int | None) -> Sequence[str]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) and each for each in value):
            raise self._error(number, key, f"{key!r} is a list of texts")
        return value

    def _error(self, number: int | None, key: str, message: str) -> RuleFileError:
        """Return an error at the line of `key` in the rule, or at the rule's beginning."""
        begin = self._starts[number] if number is not None and number < len(self._starts) else 0
        end = len(self._lines)
        if number is not None and number + 1 < len(self._starts):
            end = self._starts[number + 1]
        wanted = re.compile(rf'\s*(?:\[+\s*)?(?:rules\.)?["\']?{re.escape(key)}\b') if key else None
        at = next((n for n in range(begin, end) if wanted and wanted.match(self._lines[n])), begin)
        return RuleFileError(f"{self._path}:{at + 1}: {message}.")
