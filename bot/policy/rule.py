"""The three kinds of rules, as the policy file spells them: pydantic reads these dataclasses."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema

from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import READING, WRITING
from bot.policy.field_types import ONE_OR_MORE, Glob, Line, Text, about, key, one_of, problem

WRITING_TOOLS = frozenset(WRITING)
READING_TOOLS = frozenset(READING)

# The alternative words at one position of a command; a pattern is a list of positions from the first on.
Token = frozenset[str]
CommandPattern = tuple[Token, ...]


class Effect(StrEnum):
    """What a rule does with a call that it matches, from mild to strict. The strictest match decides."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"

    @property
    def rank(self) -> int:
        return tuple(Effect).index(self)


def _not_alone(value: object) -> object:
    if isinstance(value, str):
        words = ", ".join(value.split()[:4])
        raise problem(f"each command is a list of its words: `[[{words}]]` has one command")
    return value


def _with_local(tiers: frozenset[Tier]) -> frozenset[Tier]:
    """A person at their own terminal is meant where a maintainer is."""
    return tiers | {Tier.LOCAL} if Tier.MAINTAINER in tiers else tiers


_Globs = Annotated[tuple[Glob, ...], Field(min_length=1)]
_Word = Annotated[frozenset[Line], Field(min_length=1), ONE_OR_MORE]
_Pattern = Annotated[tuple[_Word, ...], Field(min_length=1), BeforeValidator(_not_alone)]
_Patterns = Annotated[
    tuple[_Pattern, ...], Field(min_length=1, title="a list of commands, each a list of words")
]
_Tools = Annotated[
    frozenset[Annotated[str, one_of(sorted(WRITING_TOOLS | READING_TOOLS))]], Field(min_length=1)
]
_EXCEPT = about(
    "Exceptions from the rule.", alias="except", title="a list of globs, or of commands, as the rule has"
)
_EFFECT = about(
    "The decision on a match. allow: without a question; ask: a person decides, or deny if there is none; deny."
)


@dataclass(frozen=True, kw_only=True)
class _AnyRule:
    """The keys of every rule. `name` is the rule and its position, as in `rules[2] (.github/agent.yml:14)`; the reader
    sets it, and no file does."""

    effect: Annotated[Effect, _EFFECT]
    tiers: Annotated[frozenset[Tier], AfterValidator(_with_local)] = key(
        frozenset(Tier), "The tiers that the rule applies to; by default all.", min_length=1
    )
    reason: Line = key("", "The reason that the model and people read.")
    name: SkipJsonSchema[str] = ""


@dataclass(frozen=True, kw_only=True)
class _WithExamples(_AnyRule):
    examples: tuple[Text, ...] = key(
        (), "Paths or commands that the rule must match; otherwise the file is invalid."
    )
    counterexamples: tuple[Text, ...] = key((), "Paths or commands that the rule must not match.")


@dataclass(frozen=True, kw_only=True)
class PathRule(_WithExamples):
    """Globs relative to the root, for calls of `tools`; `exceptions` are globs that the rule does not cover."""

    paths: Annotated[_Globs, about("Globs from the root: `*` matches within a name, `**` matches folders.")]
    exceptions: Annotated[_Globs, _EXCEPT] = ()
    tools: _Tools = key(WRITING_TOOLS, "The tools whose calls the rule applies to.")


@dataclass(frozen=True, kw_only=True)
class CommandRule(_WithExamples):
    """Token lists that a command begins with; `exceptions` are longer ones that the rule does not cover."""

    commands: Annotated[
        _Patterns, about("The first words of a command, each a word or a list of alternatives.")
    ]
    exceptions: Annotated[_Patterns, _EXCEPT] = ()


@dataclass(frozen=True, kw_only=True)
class OpaqueRule(_AnyRule):
    """For commands that the shell grammar cannot prove simple. Without one they are allowed."""

    effect: Annotated[Effect, one_of(("ask", "deny")), _EFFECT]
    opaque: Annotated[
        Literal[True],
        BeforeValidator(lambda value: value == "true" or value),
        about("Commands whose effect the shell grammar cannot determine."),
    ]


Rule = PathRule | CommandRule | OpaqueRule


_HEADERS = tuple(f"*** {what}:" for what in ("Add File", "Delete File", "Update File", "Move to"))


def patched_paths(patch: object) -> list[str]:
    """Return the paths in a patch's text. Only headers begin in the first column: every other line has a prefix. The
    tool itself asks again for each file before it writes."""
    if not isinstance(patch, str):
        return []
    headers = (line.partition(":")[2].strip() for line in patch.split("\n") if line.startswith(_HEADERS))
    return [path for path in headers if path]
