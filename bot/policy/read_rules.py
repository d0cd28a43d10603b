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
from itertools import islice, product
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from bot.policy.kinds import raise_problems
from bot.policy.matching import covers_path, covers_shell
from bot.policy.problems import KEY, Location, Reading
from bot.policy.rule import CommandRule, Effect, OpaqueRule, PathRule, Rule
from bot.policy.shell import parse_shell
from bot.policy.wrappers import allow_warning, runs_another

MAX_RULES = 500
_MOST_SPELLINGS = 1000


_SUBJECTS = {"paths": PathRule, "commands": CommandRule, "opaque": OpaqueRule}
"""The key that decides what kind of rule it is."""


def _tag(rule: type) -> str:
    """Return a step of pydantic's locations that is the kind's place in the JSON Schema."""
    return f"#/$defs/{rule.__name__}"


def _tag_of(value: Any) -> str | None:
    subjects = [rule for name, rule in _SUBJECTS.items() if isinstance(value, dict) and name in value]
    return _tag(subjects[0]) if len(subjects) == 1 else None


_OneRule = Annotated[
    Annotated[PathRule, Tag(_tag(PathRule))]
    | Annotated[CommandRule, Tag(_tag(CommandRule))]
    | Annotated[OpaqueRule, Tag(_tag(OpaqueRule))],
    Discriminator(
        _tag_of,
        custom_error_type="problem",
        custom_error_message="a rule has exactly one of `paths`, `commands` and `opaque`",
    ),
]


def _named(rules: object, info: ValidationInfo) -> object:
    """Name each rule by its place."""
    if not isinstance(rules, list):
        return rules
    raise_problems(
        ((number, "name", KEY), "unknown key `name`: a rule is named by its place")
        for number, rule in enumerate(rules)
        if isinstance(rule, dict) and "name" in rule
    )
    reading = cast(Reading, info.context)
    places = (f"({reading.source}:{reading.node(('rules', number)).line})" for number in range(len(rules)))
    return [
        {**rule, "name": f"rules[{number}] {place}"} if isinstance(rule, dict) else rule
        for number, (rule, place) in enumerate(zip(rules, places, strict=True))
    ]


def _consistent(rules: tuple[Rule, ...], info: ValidationInfo) -> tuple[Rule, ...]:
    """Raise the problems of rules as they stand together."""
    raise_problems(
        ((number, *where), message)
        for number, rule in enumerate(rules)
        for where, message in (*_never_allowed(rule), *_contradicted(rule))
    )
    raise_problems(_idle(rules))
    _warn_of_allow_rules(rules, cast(Reading, info.context))
    return rules


def _never_allowed(rule: Rule) -> Iterator[tuple[Location, str]]:
    """Return the problems of an allow rule for a command that is always opaque: it can never match."""
    if not isinstance(rule, CommandRule) or rule.effect is not Effect.ALLOW:
        return
    for name, patterns in (("commands", rule.commands), ("except", rule.exceptions)):
        for number, pattern in enumerate(patterns):
            spelled = islice(product(*(sorted(token) for token in pattern[:3])), _MOST_SPELLINGS)
            if words := next(filter(runs_another, spelled), None):
                yield (
                    (name, number),
                    f"`{' '.join(words)}` can run anything, so it is opaque and no rule allows it",
                )


def _contradicted(rule: Rule) -> Iterator[tuple[Location, str]]:
    """Return the problems of examples that the rule treats otherwise."""
    if isinstance(rule, OpaqueRule):
        return
    for name, expected in (("examples", True), ("counterexamples", False)):
        for number, text in enumerate(getattr(rule, name)):
            covers = (
                covers_path(rule, text)
                if isinstance(rule, PathRule)
                else covers_shell(rule, parse_shell(text))
            )
            if covers != expected:
                yield (
                    (name, number),
                    f"this {name[:-1]} is {'not ' if expected else ''}matched by its rule",
                )


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
        globs = set(rule.paths) <= set(other.paths) and rule.tools <= other.tools
        return globs and set(other.exceptions) <= set(rule.exceptions)
    if isinstance(rule, CommandRule) and isinstance(other, CommandRule):
        patterns = set(rule.commands) <= set(other.commands)
        return patterns and set(other.exceptions) <= set(rule.exceptions)
    return isinstance(rule, OpaqueRule) and isinstance(other, OpaqueRule)


def _warn_of_allow_rules(rules: Sequence[Rule], reading: Reading) -> None:
    for number, rule in enumerate(rules):
        if not isinstance(rule, CommandRule) or rule.effect is not Effect.ALLOW:
            continue
        ruled = any(isinstance(other, OpaqueRule) and other.tiers >= rule.tiers for other in rules)
        for index, pattern in enumerate(rule.commands):
            if warning := allow_warning(pattern, opaque_is_ruled=ruled):
                reading.warnings.append(reading.problem(("rules", number, "commands", index), warning))


Rules = Annotated[
    tuple[_OneRule, ...], Field(max_length=MAX_RULES), BeforeValidator(_named), AfterValidator(_consistent)
]
"""The type of the `rules` key."""
