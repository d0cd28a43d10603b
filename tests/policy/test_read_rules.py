"""The `rules` section: what a rule may say, and its examples."""

import pytest

from bot.contracts.request import Tier
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.policy.rule import WRITING_TOOLS, CommandRule, Effect, OpaqueRule, PathRule


def _rules(*lines: str) -> str:
    return "rules:\n" + "".join(f"  - {line}\n" for line in lines)


def test_a_rule_for_paths_is_read():
    line = "{effect: deny, paths: [a/**], except: [a/b], reason: why, tiers: [contributor]}"
    assert load_policy(_rules(line)).rules == (
        PathRule(
            name="rules[0] (.github/agent.yml:2)",
            effect=Effect.DENY,
            reason="why",
            tiers=frozenset({Tier.CONTRIBUTOR}),
            paths=("a/**",),
            exceptions=("a/b",),
            tools=WRITING_TOOLS,
        ),
    )


def test_a_rule_for_commands_is_read():
    (rule,) = load_policy(_rules("{effect: ask, commands: [[git, [push, pull]], [yes]]}")).rules
    assert isinstance(rule, CommandRule)
    assert rule.commands == ((frozenset({"git"}), frozenset({"push", "pull"})), (frozenset({"yes"}),))


def test_a_rule_for_opaque_commands_is_read():
    (rule,) = load_policy(_rules("{effect: deny, opaque: true}")).rules
    assert isinstance(rule, OpaqueRule)
    assert rule.tiers == frozenset(Tier)


PROBLEMS = {
    "{paths: [a]}": "2:5: this has no `effect`",
    "{effect: forbid, paths: [a]}": "2:14: this should be 'allow', 'ask' or 'deny', found `forbid`",
    "{effect: deny}": "2:5: a rule has exactly one of `paths`, `commands` and `opaque`",
    "{effect: deny, paths: [a], commands: [[b]]}": (
        "2:5: a rule has exactly one of `paths`, `commands` and `opaque`"
    ),
    "{effect: deny, paths: [a], name: x}": "2:32: unknown key `name`: a rule is named by its place",
    "{effect: deny, path: [a], paths: [b]}": "2:20: unknown key `path`; the nearest known one is `paths`",
    "{effect: deny, paths: []}": "2:27: an empty list matches nothing",
    "{effect: deny, paths: [/etc]}": "2:28: globs are relative to the root: leave the first / out",
    "{effect: deny, paths: ['*.{a,b}']}": "2:28: braces are not expanded; write one glob for each",
    "{effect: deny, paths: [a], tools: []}": "2:39: an empty list matches nothing",
    "{effect: deny, paths: [a], tools: [bash]}": (
        "2:40: `bash` is not one of edit, glob, grep, ls, patch, view, write"
    ),
    "{effect: deny, paths: [a], tiers: []}": "2:39: an empty list matches nothing",
    "{effect: deny, paths: [a], tiers: [owner]}": (
        "2:40: this should be 'maintainer', 'contributor', 'outsider', 'bot', 'schedule' or 'local', found `owner`"
    ),
    "{effect: deny, commands: []}": "2:30: an empty list matches nothing",
    "{effect: deny, commands: [[]]}": "2:31: an empty list matches nothing",
    "{effect: deny, commands: [[git, []]]}": "2:37: an empty list matches nothing",
    "{effect: deny, commands: [git push]}": (
        "2:31: each command is a list of its words: `[[git, push]]` has one command"
    ),
    "{effect: deny, commands: [[git]], tools: [bash]}": (
        "2:39: unknown key `tools`: docs/policy.md lists the known ones"
    ),
    "{effect: allow, opaque: true}": ("2:14: `allow` is not one of ask, deny"),
    "{effect: deny, opaque: false}": "2:28: this should be True, found `false`",
    "{effect: deny, opaque: true, except: [a]}": (
        "2:34: unknown key `except`: docs/policy.md lists the known ones"
    ),
    "{effect: deny, paths: [a/**], examples: [b]}": "2:46: this example is not matched by its rule",
    "{effect: deny, paths: [a/**], counterexamples: [a/b]}": "2:53: this counterexample is matched by its rule",
    "{effect: deny, commands: [[git, push]], examples: [git pull]}": (
        "2:56: this example is not matched by its rule"
    ),
    "{effect: allow, commands: [[ls]], examples: ['ls > x']}": "2:50: this example is not matched by its rule",
    "{effect: deny, commands: [[ls]], counterexamples: ['x=1 ls']}": (
        "2:56: this counterexample is matched by its rule"
    ),
}


@pytest.mark.parametrize("line", PROBLEMS)
def test_a_mistake_in_a_rule_is_named_with_its_place(line: str):
    with pytest.raises(PolicyError) as caught:
        load_policy(_rules(line))
    assert str(caught.value) == f".github/agent.yml:{PROBLEMS[line]}"


HOLDING = [
    "{effect: deny, paths: [a/**], except: [a/b], examples: [a/c, ./a/d], counterexamples: [a/b, c]}",
    "{effect: deny, commands: [[git, push]], examples: ['ls; git push'], counterexamples: [git pull]}",
    "{effect: allow, commands: [[ls], [cat]], examples: ['ls | cat'], counterexamples: ['ls; rm x']}",
]


@pytest.mark.parametrize("line", HOLDING)
def test_examples_that_hold_are_accepted(line: str):
    assert len(load_policy(_rules(line)).rules) == 1
