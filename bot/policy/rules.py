"""The `rules` section: each rule read, held against its own examples, and refused where it can never match.

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
from itertools import product

import yaml

from bot.contracts.request import Tier
from bot.policy import globs, nodes
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
from bot.policy.schema import Effect
from bot.policy.wrappers import runs_another

KEYS = (
    "effect",
    "paths",
    "commands",
    "opaque",
    "except",
    "tools",
    "tiers",
    "reason",
    "examples",
    "counterexamples",
)
_SUBJECTS = ("paths", "commands", "opaque")
MAX_RULES = 500


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
    _find_idle(read, problems)
    return tuple(rule for rule, _ in read)


def _read_rule(node: yaml.Node, index: int, problems: Problems) -> Rule | None:
    found = nodes.entries(node, KEYS, problems)
    effect = _read_effect(node, found, problems)
    subjects = [key for key in _SUBJECTS if key in found]
    if len(subjects) != 1:
        problems.add(node, "a rule has exactly one of `paths`, `commands` and `opaque`")
        return None
    if effect is None:
        return None
    name = f"rules[{index}] ({problems.place(node)})"
    reason = (nodes.line(found["reason"], problems) if "reason" in found else None) or ""
    tiers = _read_tiers(found, problems)
    if subjects == ["opaque"]:
        return _read_opaque(found, name, effect, reason, tiers, problems)
    rule: PathRule | CommandRule
    if subjects == ["paths"]:
        rule = PathRule(
            name,
            effect,
            reason,
            tiers,
            globs=_read_globs(found["paths"], problems),
            exceptions=_read_globs(found["except"], problems) if "except" in found else (),
            tools=_read_tools(found, problems),
        )
    else:
        _refuse_keys(found, ("tools",), "a rule for commands", problems)
        rule = CommandRule(
            name,
            effect,
            reason,
            tiers,
            patterns=_read_patterns(found["commands"], effect, problems),
            exceptions=_read_patterns(found["except"], effect, problems) if "except" in found else (),
        )
    _try_examples(rule, found, problems)
    return rule


def _read_effect(node: yaml.Node, found: Mapping[str, yaml.Node], problems: Problems) -> Effect | None:
    if "effect" not in found:
        problems.add(node, "a rule needs an `effect`: allow, ask or deny")
        return None
    effect = nodes.choice(found["effect"], [one.value for one in Effect], problems)
    return Effect(effect) if effect else None


def _read_tiers(found: Mapping[str, yaml.Node], problems: Problems) -> frozenset[Tier]:
    if "tiers" not in found:
        return frozenset(Tier)
    known = [tier.value for tier in Tier]
    read = [nodes.choice(item, known, problems) for item in nodes.items(found["tiers"], problems)]
    if not read:
        problems.add(found["tiers"], "no tier is named, so this rule can never match")
    tiers = frozenset(Tier(tier) for tier in read if tier is not None)
    # A person at their own terminal is their repository's maintainer.
    return tiers | {Tier.LOCAL} if Tier.MAINTAINER in tiers else tiers


def _read_tools(found: Mapping[str, yaml.Node], problems: Problems) -> frozenset[str]:
    if "tools" not in found:
        return WRITING_TOOLS
    known = sorted(WRITING_TOOLS | READING_TOOLS)
    read = [nodes.choice(item, known, problems) for item in nodes.items(found["tools"], problems)]
    if not read:
        problems.add(found["tools"], "no tool is named, so this rule can never match")
    return frozenset(tool for tool in read if tool is not None)


def _read_opaque(
    found: Mapping[str, yaml.Node],
    name: str,
    effect: Effect,
    reason: str,
    tiers: frozenset[Tier],
    problems: Problems,
) -> OpaqueRule:
    _refuse_keys(
        found, ("tools", "except", "examples", "counterexamples"), "a rule for opaque commands", problems
    )
    if nodes.truth(found["opaque"], problems) is False:
        problems.add(found["opaque"], "`opaque` is true or left out")
    if effect is Effect.ALLOW:
        problems.add(found["effect"], "no rule allows opaque commands: without a rule they are allowed")
    return OpaqueRule(name, effect, reason, tiers)


def _refuse_keys(
    found: Mapping[str, yaml.Node], keys: tuple[str, ...], where: str, problems: Problems
) -> None:
    for key in keys:
        if key in found:
            problems.add(found[key], f"`{key}` means nothing in {where}")


def _read_globs(node: yaml.Node, problems: Problems) -> tuple[str, ...]:
    read: list[str] = []
    for item in nodes.items(node, problems):
        glob = nodes.line(item, problems)
        if glob is None:
            continue
        flaw = globs.flaw(glob)
        if flaw:
            problems.add(item, flaw)
        else:
            read.append(glob)
    if isinstance(node, yaml.SequenceNode) and not node.value:
        problems.add(node, "an empty list matches nothing")
    return tuple(read)


def _read_patterns(node: yaml.Node, effect: Effect, problems: Problems) -> tuple[CommandPattern, ...]:
    read: list[CommandPattern] = []
    for item in nodes.items(node, problems):
        if isinstance(item, yaml.ScalarNode):
            words = ", ".join(item.value.split()[:4])
            problems.add(item, f"a command is a list of words, as in [{words}]")
            continue
        pattern = [_read_token(token, problems) for token in nodes.items(item, problems)]
        if not pattern:
            problems.add(item, "an empty list matches nothing")
        elif all(pattern):
            read.append(tuple(pattern))
            if effect is Effect.ALLOW:
                _refuse_opaque_pattern(item, read[-1], problems)
    if isinstance(node, yaml.SequenceNode) and not node.value:
        problems.add(node, "an empty list matches nothing")
    return tuple(read)


def _read_token(node: yaml.Node, problems: Problems) -> frozenset[str]:
    alternatives = nodes.items(node, problems) if isinstance(node, yaml.SequenceNode) else [node]
    if not alternatives:
        problems.add(node, "an empty list matches nothing")
    read = [nodes.line(one, problems) for one in alternatives]
    return frozenset(one for one in read if one is not None)


def _refuse_opaque_pattern(node: yaml.Node, pattern: CommandPattern, problems: Problems) -> None:
    """Of an allow rule: the commands of that name are opaque, so it can never match."""
    for words in product(*(sorted(token) for token in pattern[:3])):
        if runs_another(words):
            problems.add(node, f"`{' '.join(words)}` can run anything, so it is opaque and no rule allows it")
            return


def _try_examples(rule: PathRule | CommandRule, found: Mapping[str, yaml.Node], problems: Problems) -> None:
    for key, expected in (("examples", True), ("counterexamples", False)):
        for item in nodes.items(found[key], problems) if key in found else ():
            example = nodes.text(item, problems)
            if example is None:
                continue
            matched = (
                covers_path(rule, example) if isinstance(rule, PathRule) else covers_command(rule, example)
            )
            if matched != expected:
                problems.add(item, f"this {key[:-1]} is {'not ' if expected else ''}matched by its rule")


def _find_idle(read: list[tuple[Rule, yaml.Node]], problems: Problems) -> None:
    """A rule that says what a stricter one says for the same calls can never decide one."""
    for rule, node in read:
        for other, _ in read:
            if (
                other.effect.rank > rule.effect.rank
                and other.tiers >= rule.tiers
                and _says_the_same(rule, other)
            ):
                problems.add(node, f"this rule can never decide: {other.name} is stricter for all of it")
                break


def _says_the_same(rule: Rule, other: Rule) -> bool:
    if isinstance(rule, PathRule) and isinstance(other, PathRule):
        return (
            set(rule.globs) <= set(other.globs)
            and set(other.exceptions) <= set(rule.exceptions)
            and rule.tools <= other.tools
        )
    if isinstance(rule, CommandRule) and isinstance(other, CommandRule):
        return set(rule.patterns) <= set(other.patterns) and set(other.exceptions) <= set(rule.exceptions)
    return isinstance(rule, OpaqueRule) and isinstance(other, OpaqueRule)
