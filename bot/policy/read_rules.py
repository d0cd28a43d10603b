"""Read the `rules` section; a rule that contradicts its own examples is an error.

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

from collections.abc import Iterator
from typing import Annotated, Any, cast

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, ValidationInfo

from bot.parsing.yaml_document import KEY, Location
from bot.policy.field_types import raise_problems
from bot.policy.matching import covers_path, covers_shell
from bot.policy.rule import CommandRule, OpaqueRule, PathRule, Rule
from bot.policy.shell import parse_shell
from bot.policy.validate_document import VARIANT, Reading

MAX_RULES = 500

_SUBJECTS = ("paths", "commands", "opaque")
"""The keys that decide what kind of rule it is."""


def _tag_of(value: Any) -> str | None:
    subjects = [name for name in _SUBJECTS if isinstance(value, dict) and name in value]
    return f"{VARIANT}{subjects[0]}" if len(subjects) == 1 else None


_OneRule = Annotated[
    Annotated[PathRule, Tag(f"{VARIANT}paths")]
    | Annotated[CommandRule, Tag(f"{VARIANT}commands")]
    | Annotated[OpaqueRule, Tag(f"{VARIANT}opaque")],
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
    places = (
        f"({reading.source}:{reading.document.place(('rules', number)).line})" for number in range(len(rules))
    )
    return [
        {**rule, "name": f"rules[{number}] {place}"} if isinstance(rule, dict) else rule
        for number, (rule, place) in enumerate(zip(rules, places, strict=True))
    ]


def _consistent(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    raise_problems(
        ((number, *where), message)
        for number, rule in enumerate(rules)
        for where, message in _contradicted(rule)
    )
    return rules


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
                yield ((name, number), f"this {name[:-1]} is {'not ' if expected else ''}matched by its rule")


Rules = Annotated[
    tuple[_OneRule, ...], Field(max_length=MAX_RULES), BeforeValidator(_named), AfterValidator(_consistent)
]
"""The type of the `rules` key."""
