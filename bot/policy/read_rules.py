"""Read the `rules` section; a rule that contradicts its own examples, or can never decide, is an error.

rules:
  - effect: deny                  # allow, ask or deny
    paths: ["docs/generated/**"]  # or `commands`, or `opaque: true`
    except: ["docs/generated/README.md"]
    tools: [edit, write, patch]   # paths only; these three are the default
    tiers: [contributor]          # everybody by default
    reason: "make docs writes these"
    examples: ["docs/generated/api.md"]
    counterexamples: ["docs/index.md"]
  - effect: deny
    commands: [[git, push], [git, [tag, branch]]]   # the words a command begins with
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from bot.contracts.request import Tier
from bot.policy.kinds import (
    ONE_OR_MORE,
    As,
    Glob,
    Line,
    Scalar,
    Text,
    about,
    key,
    one_of,
    problem,
    raise_problems,
    truth,
)
from bot.policy.matching import covers_command, covers_path
from bot.policy.problems import Location, Reading
from bot.policy.rule import (
    READING_TOOLS,
    WRITING_TOOLS,
    CommandRule,
    Effect,
    OpaqueRule,
    PathRule,
    Rule,
)
from bot.policy.wrappers import allow_warning, runs_another

MAX_RULES = 500
_MOST_SPELLINGS = 1000


def _not_alone(value: object) -> object:
    if isinstance(value, Scalar):
        words = ", ".join(value.split()[:4])
        raise problem(f"each command is a list of its words: `[[{words}]]` has one command")
    return value


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
    "What the rule leaves alone.", alias="except", title="a list of globs, or of commands, as the rule has"
)
_EFFECT = about(
    "What a match does. allow: no question is asked; ask: a person decides, and deny if nobody is there."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """The keys of every rule."""

    effect: Annotated[Effect, _EFFECT]
    tiers: frozenset[Tier] = key(frozenset(Tier), "Who is asking; by default everybody.", min_length=1)
    reason: Line = key("", "Said to the model, and to people, when the rule decides.")

    @property
    def all_tiers(self) -> frozenset[Tier]:
        """`tiers`, and a person at their own terminal where a maintainer is meant."""
        return self.tiers | {Tier.LOCAL} if Tier.MAINTAINER in self.tiers else self.tiers


@dataclass(frozen=True, slots=True, kw_only=True)
class _WithExamples(_Entry):
    examples: tuple[Text, ...] = key(
        (), "Paths or commands that the rule must match, or the file is refused."
    )
    counterexamples: tuple[Text, ...] = key((), "Paths or commands that it must not match.")

    def contradicted(self, rule: PathRule | CommandRule) -> Iterator[tuple[Location, str]]:
        """Return the problems of examples that the rule treats otherwise."""
        for name, expected in (("examples", True), ("counterexamples", False)):
            for number, text in enumerate(getattr(self, name)):
                covers = covers_path(rule, text) if isinstance(rule, PathRule) else covers_command(rule, text)
                if covers != expected:
                    yield (
                        (name, number),
                        f"this {name[:-1]} is {'not ' if expected else ''}matched by its rule",
                    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PathEntry(_WithExamples):
    paths: Annotated[_Globs, about("Globs from the root: `*` stays within a name, `**` stands for folders.")]
    exceptions: Annotated[_Globs, _EXCEPT] = ()
    tools: _Tools = key(WRITING_TOOLS, "For paths: whose calls.")

    def rule(self, name: str) -> PathRule:
        return PathRule(
            name, self.effect, self.reason, self.all_tiers, self.paths, self.exceptions, self.tools
        )

    def problems(self, rule: PathRule) -> Iterator[tuple[Location, str]]:
        return self.contradicted(rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEntry(_WithExamples):
    commands: Annotated[
        _Patterns, about("The words a command begins with, each a word or a list of alternatives.")
    ]
    exceptions: Annotated[_Patterns, _EXCEPT] = ()

    def rule(self, name: str) -> CommandRule:
        return CommandRule(name, self.effect, self.reason, self.all_tiers, self.commands, self.exceptions)

    def problems(self, rule: CommandRule) -> Iterator[tuple[Location, str]]:
        """An allow rule for a command that is always opaque can never match."""
        lists = {"commands": self.commands, "except": self.exceptions} if self.effect is Effect.ALLOW else {}
        for name, patterns in lists.items():
            for number, pattern in enumerate(patterns):
                spelled = islice(product(*(sorted(token) for token in pattern[:3])), _MOST_SPELLINGS)
                if words := next(filter(runs_another, spelled), None):
                    yield (
                        (name, number),
                        f"`{' '.join(words)}` can run anything, so it is opaque and no rule allows it",
                    )
        yield from self.contradicted(rule)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueEntry(_Entry):
    effect: Annotated[Effect, one_of(("ask", "deny")), _EFFECT]
    opaque: Annotated[
        Literal[True], BeforeValidator(truth), about("Commands that the shell grammar cannot prove simple.")
    ]

    def rule(self, name: str) -> OpaqueRule:
        return OpaqueRule(name, self.effect, self.reason, self.all_tiers)

    def problems(self, rule: OpaqueRule) -> Iterator[tuple[Location, str]]:
        return iter(())


_SUBJECTS = {"paths": PathEntry, "commands": CommandEntry, "opaque": OpaqueEntry}
"""The key that decides what kind of rule it is."""


def _tag(entry: type) -> str:
    """Return a step of pydantic's locations that is the kind's place in the JSON Schema."""
    return f"#/$defs/{entry.__name__}"


def _tag_of(value: Any) -> str | None:
    subjects = [entry for name, entry in _SUBJECTS.items() if isinstance(value, dict) and name in value]
    return _tag(subjects[0]) if len(subjects) == 1 else None


_AnyEntry = Annotated[
    Annotated[PathEntry, Tag(_tag(PathEntry))]
    | Annotated[CommandEntry, Tag(_tag(CommandEntry))]
    | Annotated[OpaqueEntry, Tag(_tag(OpaqueEntry))],
    Discriminator(
        _tag_of,
        custom_error_type="problem",
        custom_error_message="a rule has exactly one of `paths`, `commands` and `opaque`",
    ),
]


def _as_rules(entries: Sequence[Any], info: ValidationInfo) -> tuple[Rule, ...]:
    """Return the rules. Raises the problems of rules as they stand together."""
    reading = cast(Reading, info.context)
    rules = [
        entry.rule(f"rules[{number}] ({reading.source}:{reading.node(('rules', number)).line})")
        for number, entry in enumerate(entries)
    ]
    raise_problems(
        ((number, *where), message)
        for number, (entry, rule) in enumerate(zip(entries, rules, strict=True))
        for where, message in entry.problems(rule)
    )
    raise_problems(_idle(rules))
    _warn_of_allow_rules(rules, reading)
    return tuple(rules)


def _idle(rules: Sequence[Rule]) -> Iterator[tuple[Location, str]]:
    """Return the problems of rules that a stricter one covers: they can never decide a call."""
    for number, rule in enumerate(rules):
        for other in rules:
            stricter = other.effect.rank > rule.effect.rank and other.tiers >= rule.tiers
            if stricter and _says_the_same(rule, other):
                yield (number,), f"this rule can never decide: {other.name} is stricter for all of it"
                break


def _says_the_same(rule: Rule, other: Rule) -> bool:
    """Whether `other` covers all of `rule`."""
    if isinstance(rule, PathRule) and isinstance(other, PathRule):
        globs = set(rule.globs) <= set(other.globs) and rule.tools <= other.tools
        return globs and set(other.exceptions) <= set(rule.exceptions)
    if isinstance(rule, CommandRule) and isinstance(other, CommandRule):
        patterns = set(rule.patterns) <= set(other.patterns)
        return patterns and set(other.exceptions) <= set(rule.exceptions)
    return isinstance(rule, OpaqueRule) and isinstance(other, OpaqueRule)


def _warn_of_allow_rules(rules: Sequence[Rule], reading: Reading) -> None:
    for number, rule in enumerate(rules):
        if not isinstance(rule, CommandRule) or rule.effect is not Effect.ALLOW:
            continue
        ruled = any(isinstance(other, OpaqueRule) and other.tiers >= rule.tiers for other in rules)
        for index, pattern in enumerate(rule.patterns):
            if warning := allow_warning(pattern, opaque_is_ruled=ruled):
                reading.warnings.append(reading.problem(("rules", number, "commands", index), warning))


RULES = As(Annotated[tuple[_AnyEntry, ...], Field(max_length=MAX_RULES), AfterValidator(_as_rules)])
"""The annotation of the `rules` key."""
