"""Read the `rules` section; a rule that contradicts its own examples, or can never match, is an error.

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

from collections.abc import Mapping
from itertools import islice, product

import yaml

from bot.contracts.request import Tier
from bot.policy import nodes
from bot.policy.key_kinds import Key, Kind, Schema, Table, choice, glob, line, list_of, text
from bot.policy.matching import covers_command, covers_path
from bot.policy.nodes import Problems
from bot.policy.rule import (
    READING_TOOLS,
    WRITING_TOOLS,
    CommandPattern,
    CommandRule,
    OpaqueRule,
    PathRule,
    Rule,
)
from bot.policy.values import Effect
from bot.policy.wrappers import allow_warning, runs_another

_SUBJECTS = ("paths", "commands", "opaque")
MAX_RULES = 500
_MOST_SPELLINGS = 1000
_NOTHING = "an empty list matches nothing"


def _node(schema: Schema, words: str) -> Kind[yaml.Node]:
    """A value that is read later, since its meaning depends on another key of the rule."""
    return Kind(lambda node, problems: node, schema, words)


_GLOBS = list_of(glob(), least=_NOTHING)
_TOOLS: Kind[frozenset[str]] = list_of(
    choice(sorted(WRITING_TOOLS | READING_TOOLS)), least="no tool is named, so this rule can never match"
).into(frozenset)
_WORD = line(words="word")
_PATTERNS_SCHEMA: Schema = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "array",
        "minItems": 1,
        "items": {"anyOf": [_WORD.schema, {"type": "array", "minItems": 1, "items": _WORD.schema}]},
    },
}
_EXAMPLES = Kind(nodes.items, {"type": "array", "items": text().schema}, "list of paths or commands")
RULE = Table(
    (
        Key(
            "effect",
            choice([one.value for one in Effect]).into(Effect),
            "What a match does. allow: no question is asked; ask: a person decides, and deny if nobody is there.",
            "a rule needs an `effect`: allow, ask or deny",
        ),
        Key("paths", _GLOBS, "Globs from the root: `*` stays within a name, `**` stands for folders."),
        Key(
            "commands",
            _node(_PATTERNS_SCHEMA, "list of commands, each a list of words"),
            "The words a command begins with, each a word or a list of alternatives.",
        ),
        Key(
            "opaque",
            _node({"const": True}, "true"),
            "Commands that the shell grammar cannot prove simple.",
        ),
        Key(
            "except",
            _node({"anyOf": [_GLOBS.schema, _PATTERNS_SCHEMA]}, "as `paths` or `commands`"),
            "What the rule leaves alone.",
        ),
        Key(
            "tools",
            _node(_TOOLS.schema, _TOOLS.words),
            "For paths: whose calls.",
            default=WRITING_TOOLS,
        ),
        Key(
            "tiers",
            list_of(
                choice([tier.value for tier in Tier]), least="no tier is named, so this rule can never match"
            ).into(lambda names: frozenset(map(Tier, names))),
            "Who is asking; by default everybody.",
        ),
        Key("reason", line(), "Said to the model, and to people, when the rule decides."),
        Key("examples", _EXAMPLES, "Paths or commands that the rule must match, or the file is refused."),
        Key("counterexamples", _EXAMPLES, "Paths or commands that it must not match."),
    )
)
KEYS = tuple(RULE)


def read_rules(node: yaml.Node, problems: Problems) -> tuple[Rule, ...]:
    read: list[tuple[Rule, yaml.Node]] = []
    items = nodes.items(node, problems)
    if len(items) > MAX_RULES:
        problems.add(node, f"over {MAX_RULES} rules")
        return ()
    for index, item in enumerate(items):
        rule = _read_rule(item, index, problems)
        if rule is not None:
            read.append((rule, item))
    _report_unreachable(read, problems)
    _warn_of_allow_rules(read, problems)
    return tuple(rule for rule, _ in read)


def _read_rule(node: yaml.Node, index: int, problems: Problems) -> Rule | None:
    section = RULE.read(node, problems)
    entries, values = section.nodes, section.values
    subjects = [key for key in _SUBJECTS if key in entries]
    if len(subjects) != 1:
        problems.add(node, "a rule has exactly one of `paths`, `commands` and `opaque`")
        return None
    effect: Effect | None = values.get("effect")
    if effect is None:
        return None
    name = f"rules[{index}] ({problems.position(node)})"
    reason: str = values.get("reason") or ""
    tiers = _tiers_with_local(values.get("tiers"))
    if subjects == ["opaque"]:
        _check_opaque(entries, effect, problems)
        return OpaqueRule(name, effect, reason, tiers)
    rule: PathRule | CommandRule
    if subjects == ["paths"]:
        rule = PathRule(
            name,
            effect,
            reason,
            tiers,
            globs=values.get("paths") or (),
            exceptions=_GLOBS.read(entries["except"], problems) or () if "except" in entries else (),
            tools=_TOOLS.read(entries["tools"], problems) or WRITING_TOOLS
            if "tools" in entries
            else WRITING_TOOLS,
        )
    else:
        _refuse_keys(entries, ("tools",), "a rule for commands", problems)
        rule = CommandRule(
            name,
            effect,
            reason,
            tiers,
            patterns=_read_patterns(entries["commands"], effect, problems),
            exceptions=_read_patterns(entries["except"], effect, problems) if "except" in entries else (),
        )
    _try_examples(rule, entries, problems)
    return rule


def _tiers_with_local(tiers: frozenset[Tier] | None) -> frozenset[Tier]:
    if not tiers:
        return frozenset(Tier)
    # A person at their own terminal is their repository's maintainer.
    return tiers | {Tier.LOCAL} if Tier.MAINTAINER in tiers else tiers


def _check_opaque(entries: Mapping[str, yaml.Node], effect: Effect, problems: Problems) -> None:
    _refuse_keys(
        entries,
        ("tools", "except", "examples", "counterexamples"),
        "a rule for opaque commands",
        problems,
    )
    if nodes.truth(entries["opaque"], problems) is False:
        problems.add(entries["opaque"], "`opaque` is true or left out")
    if effect is Effect.ALLOW:
        problems.add(entries["effect"], "no rule allows opaque commands: without a rule they are allowed")


def _refuse_keys(
    entries: Mapping[str, yaml.Node], keys: tuple[str, ...], where: str, problems: Problems
) -> None:
    for key in keys:
        if key in entries:
            problems.add(entries[key], f"`{key}` means nothing in {where}")


def _read_patterns(node: yaml.Node, effect: Effect, problems: Problems) -> tuple[CommandPattern, ...]:
    read: list[CommandPattern] = []
    for item in nodes.items(node, problems):
        if isinstance(item, yaml.ScalarNode):
            words = ", ".join(item.value.split()[:4])
            problems.add(item, f"each command is a list of its words: `[[{words}]]` has one command")
            continue
        pattern = [_read_token(token, problems) for token in nodes.items(item, problems)]
        if not pattern:
            problems.add(item, _NOTHING)
        elif all(pattern):
            read.append(tuple(pattern))
            if effect is Effect.ALLOW:
                _refuse_opaque_pattern(item, read[-1], problems)
    if isinstance(node, yaml.SequenceNode) and not node.value:
        problems.add(node, _NOTHING)
    return tuple(read)


def _read_token(node: yaml.Node, problems: Problems) -> frozenset[str]:
    alternatives = nodes.items(node, problems) if isinstance(node, yaml.SequenceNode) else [node]
    if not alternatives:
        problems.add(node, _NOTHING)
    read = [nodes.line(one, problems) for one in alternatives]
    return frozenset(one for one in read if one is not None)


def _refuse_opaque_pattern(node: yaml.Node, pattern: CommandPattern, problems: Problems) -> None:
    """Report an allow rule for a command that is always opaque: it can never match."""
    for words in islice(product(*(sorted(token) for token in pattern[:3])), _MOST_SPELLINGS):
        if runs_another(words):
            problems.add(node, f"`{' '.join(words)}` can run anything, so it is opaque and no rule allows it")
            return


def _try_examples(rule: PathRule | CommandRule, entries: Mapping[str, yaml.Node], problems: Problems) -> None:
    for key, expected in (("examples", True), ("counterexamples", False)):
        for item in nodes.items(entries[key], problems) if key in entries else ():
            example = nodes.text(item, problems)
            if example is None:
                continue
            matched = (
                covers_path(rule, example) if isinstance(rule, PathRule) else covers_command(rule, example)
            )
            if matched != expected:
                problems.add(item, f"this {key[:-1]} is {'not ' if expected else ''}matched by its rule")


def _report_unreachable(read: list[tuple[Rule, yaml.Node]], problems: Problems) -> None:
    """Report rules that a stricter one covers: they can never decide a call."""
    for rule, node in read:
        for other, _ in read:
            if (
                other.effect.rank > rule.effect.rank
                and other.tiers >= rule.tiers
                and _says_the_same(rule, other)
            ):
                problems.add(node, f"this rule can never decide: {other.name} is stricter for all of it")
                break


def _warn_of_allow_rules(read: list[tuple[Rule, yaml.Node]], problems: Problems) -> None:
    for rule, node in read:
        if not isinstance(rule, CommandRule) or rule.effect is not Effect.ALLOW:
            continue
        ruled = any(isinstance(other, OpaqueRule) and other.tiers >= rule.tiers for other, _ in read)
        commands = dict(nodes.pairs(node, problems))
        listed = next(value for key, value in commands.items() if key.value == "commands")
        for item, pattern in zip(listed.value, rule.patterns, strict=False):
            if warning := allow_warning(pattern, opaque_is_ruled=ruled):
                problems.warn(item, warning)


def _says_the_same(rule: Rule, other: Rule) -> bool:
    """Whether `other` covers all of `rule`. False for a rule without patterns: its errors are reported already."""
    if isinstance(rule, PathRule) and isinstance(other, PathRule):
        return (
            bool(rule.globs)
            and set(rule.globs) <= set(other.globs)
            and set(other.exceptions) <= set(rule.exceptions)
            and rule.tools <= other.tools
        )
    if isinstance(rule, CommandRule) and isinstance(other, CommandRule):
        return (
            bool(rule.patterns)
            and set(rule.patterns) <= set(other.patterns)
            and set(other.exceptions) <= set(rule.exceptions)
        )
    return isinstance(rule, OpaqueRule) and isinstance(other, OpaqueRule)


_RULE_SCHEMA: Schema = {
    **RULE.schema(),
    "oneOf": [{"required": [subject]} for subject in _SUBJECTS],
    # Keys that are invalid beside one of the subjects.
    "dependentSchemas": {
        "commands": {"properties": {"tools": False, "except": _PATTERNS_SCHEMA}},
        "paths": {"properties": {"except": _GLOBS.schema}},
        "opaque": {
            "properties": {
                "effect": {"enum": ["ask", "deny"]},
                **dict.fromkeys(("tools", "except", "examples", "counterexamples"), False),
            }
        },
    },
}
RULES: Kind[tuple[Rule, ...]] = Kind(
    read_rules, {"type": "array", "maxItems": MAX_RULES, "items": _RULE_SCHEMA}, "list of rules"
)
