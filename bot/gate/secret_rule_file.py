"""Read a repository's own secret rules in the TOML format of gitleaks: each `[[rules]]` has an `id`, a `regex` and
conditions. The file comes from the base commit; a mistake is an error with its place. google-re2 compiles the
expressions, so that no rule can make a search slow.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import re2
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator
from pydantic_core.core_schema import ValidationInfo

from bot.contracts.errors import UsageError
from bot.gate.secrets import Rule, Span
from bot.parsing.parser import ParseError, Parser

_MOST_BYTES = 1 << 18
_MOST_RULES = 300
_LONGEST_REGEX = 4_000
_MEMORY = 1 << 24


class RuleFileError(UsageError):
    """The rule file is invalid: `FILE: place: problem`."""


def _compiled(expression: object) -> Any:
    if not isinstance(expression, str) or not 0 < len(expression.strip()) <= _LONGEST_REGEX:
        raise ValueError(f"an expression is a text of at most {_LONGEST_REGEX} characters")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    try:
        return re2.compile(expression.encode(), options)
    except re2.error as error:
        message = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"google-re2 does not take this expression: {message}") from error


_Text = Annotated[str, Field(min_length=1)]
_Regex = Annotated[Any, BeforeValidator(_compiled)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = ""


class _Allowlist(_Table):
    """Exceptions from a rule: an expression on the secret, the match or its line, or a word in the secret."""

    regexes: list[_Regex] = []
    stopwords: list[_Text] = []
    regexTarget: Literal["secret", "match", "line"] = "secret"
    targetRules: list[str] = []

    def allows(self, secret: bytes, match: bytes, line: bytes) -> bool:
        on = {"secret": secret, "match": match, "line": line}[self.regexTarget]
        return any(regex.search(on) for regex in self.regexes) or any(
            word.lower().encode() in secret.lower() for word in self.stopwords
        )


class _WithAllowlists(_Table):
    allowlist: _Allowlist | None = None
    allowlists: list[_Allowlist] = []

    @property
    def exceptions(self) -> list[_Allowlist]:
        return [*self.allowlists, *([self.allowlist] if self.allowlist else [])]


class _RuleTable(_WithAllowlists):
    id: _Text
    regex: _Regex
    keywords: list[_Text] = []
    entropy: float = Field(0, ge=0, le=8)
    secretGroup: int = Field(0, ge=0)
    tags: list[str] = []

    @field_validator("secretGroup")
    @classmethod
    def _has_group(cls, group: int, info: ValidationInfo) -> int:
        groups = info.data["regex"].groups if "regex" in info.data else group
        if group > groups:
            raise ValueError(f"the expression has {groups} groups")
        return group


class _File(_WithAllowlists):
    title: str = ""
    rules: list[_RuleTable] = Field(min_length=1, max_length=_MOST_RULES)


@dataclass(frozen=True, slots=True)
class FileRule:
    """One rule. A call with a text yields the matches in it."""

    table: _RuleTable
    exceptions: list[_Allowlist]

    def __call__(self, data: bytes) -> Iterator[Span]:
        rule = self.table
        if rule.keywords:
            lower = data.lower()
            if not any(word.lower().encode() in lower for word in rule.keywords):
                return
        for match in rule.regex.finditer(data):
            start, end = match.span(rule.secretGroup or (1 if match.re.groups else 0))
            if start < 0:
                start, end = match.span()
            secret = data[start:end]
            if not secret or (rule.entropy and entropy(secret) <= rule.entropy):
                continue
            line = data[data.rfind(b"\n", 0, start) + 1 :].partition(b"\n")[0]
            if not any(one.allows(secret, match.group(), line) for one in self.exceptions):
                yield Span(start, end, rule.id)


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
        file = _File.model_validate(parsed)
    except ParseError as error:
        raise RuleFileError(f"{path}: {error}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise RuleFileError(f"{path}: {where}: {message}.") from error
    names = Counter(rule.id for rule in file.rules)
    if twice := next((name for name, number in names.items() if number > 1), ""):
        raise RuleFileError(f"{path}: two rules are called {twice!r}.")
    return tuple(FileRule(rule, [*file.exceptions, *rule.exceptions]) for rule in file.rules)
