"""What `policy check` says of rules that allow commands: the 48 that people write first."""

from __future__ import annotations

import pytest

from bot.policy.problems import PolicyError
from bot.policy.read_policy import check_policy

OPAQUE, FILES, MANY, OPTION, PLACE = "can run anything", "may run anything", "covers", "opaque", "is a file"

CORPUS = {
    # Interpreters, wrappers and programs with a language of their own: no rule can allow them.
    "[python3]": OPAQUE,
    "[python3.12, -m, pytest]": OPAQUE,
    "[node, build.js]": OPAQUE,
    "[bash, -c]": OPAQUE,
    "[perl]": OPAQUE,
    "[make]": OPAQUE,
    "[make, test]": OPAQUE,
    "[npm, run]": OPAQUE,
    "[npm, run, build]": OPAQUE,
    "[npx, eslint]": OPAQUE,
    "[find, ., -exec]": OPAQUE,
    "[find, ., -delete]": OPAQUE,
    "[tar, --checkpoint-action=exec=x]": OPAQUE,
    "[tar]": OPAQUE,
    "[sed, -n]": OPAQUE,
    "[awk]": OPAQUE,
    "[xargs]": OPAQUE,
    "[env]": OPAQUE,
    "[env, CI=1, pytest]": OPAQUE,
    "[timeout, '5']": OPAQUE,
    "[sudo]": OPAQUE,
    "[git, -c]": OPAQUE,
    "[git, -C, web]": OPAQUE,
    "[git, [status, bisect]]": OPAQUE,
    "[git, config]": OPAQUE,
    "[split, --filter=x]": OPAQUE,
    "[bundle, exec]": OPAQUE,
    "[uv, run, pytest]": OPAQUE,
    # What the repository says is run, and the agent writes the repository.
    "[pytest]": FILES,
    "[pytest, -q]": FILES,
    "[npm, test]": FILES,
    "[[npm, yarn], install]": FILES,
    "[cargo, test]": FILES,
    "[go, test, ./...]": FILES,
    "[pip, install]": FILES,
    "[git, commit]": FILES,
    "[./gradlew, build]": PLACE,
    "[scripts/check]": PLACE,
    # Rules that end before what matters.
    "[git]": MANY,
    "[docker]": MANY,
    "[pip]": MANY,
    "[find]": OPTION,
    "[find, .]": OPTION,
    "[sort]": OPTION,
    "[rg]": OPTION,
    "[gcc]": OPTION,
    "[git, [status, diff]]": OPTION,
    "[git, fetch]": OPTION,
}
HARMLESS = [
    "[ls]",
    "[cat]",
    "[grep, -rn]",
    "[wc, -l]",
    "[head]",
    "[git, status]",
    "[git, [ls-files, rev-parse]]",
    "[ruff, check]",
]


def _said(pattern: str, more: str = "") -> list[tuple[int, int, str]]:
    text = f"rules:\n  - effect: allow\n    commands: [{pattern}]\n{more}"
    try:
        warnings = check_policy(text, "agent.yml").warnings
    except PolicyError as error:
        warnings = error.problems
    return [(one.line, one.column, one.message) for one in warnings]


@pytest.mark.parametrize("pattern", CORPUS)
def test_what_a_rule_gives_away_is_said_where_it_stands(pattern: str) -> None:
    [(line, column, message)] = _said(pattern)
    assert (line, column) == (3, 16)
    assert CORPUS[pattern] in message


@pytest.mark.parametrize("pattern", HARMLESS)
def test_nothing_is_said_of_what_gives_nothing_away(pattern: str) -> None:
    assert _said(pattern) == []


def test_where_opaque_commands_are_ruled_a_rule_that_ends_early_gives_nothing_away() -> None:
    assert _said("[find]", "  - {effect: ask, opaque: true}\n") == []
    assert _said("[find]", "  - {effect: ask, opaque: true, tiers: [bot]}\n") != []


def test_a_rule_that_denies_gives_nothing_away() -> None:
    text = "rules:\n  - {effect: deny, commands: [[git], [pytest], [find]]}\n"
    assert check_policy(text, "agent.yml").warnings == ()


def test_many_alternatives_are_looked_through_in_bounded_time() -> None:
    many = "[" + ", ".join(f"[{', '.join(f'w{n}' for n in range(50))}]" for _ in range(40)) + "]"
    assert _said(many) == []
