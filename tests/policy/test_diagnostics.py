"""The key `diagnostics`: what looks on while files are edited, and which checkers run before and after."""

from __future__ import annotations

import re

import pytest

from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.running import DiagnosticsPolicy, ServerPolicy


def test_where_nothing_is_said_all_that_is_there_looks_on_for_two_seconds() -> None:
    assert load_policy("diagnostics: {}\n").diagnostics == DiagnosticsPolicy(False, 2.0, {}, None)


def test_each_key_is_read() -> None:
    text = """\
diagnostics:
  off: true
  wait: 1
  servers:
    ty: {command: .venv/bin/ty server}
    biome: {off: true}
  checkers: [ruff, mypy]
"""
    found = load_policy(text).diagnostics
    assert (found.off, found.wait, found.checkers) == (True, 1.0, ("ruff", "mypy"))
    assert found.servers == {"ty": ServerPolicy(".venv/bin/ty server"), "biome": ServerPolicy(off=True)}


def test_none_and_an_empty_list_are_no_checkers() -> None:
    for said in ("none", "[]"):
        assert load_policy(f"diagnostics: {{checkers: {said}}}\n").diagnostics.checkers == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("diagnostics: {servers: {tyy: {off: true}}}", "`tyy` is not one of"),
        ("diagnostics: {servers: {cargo: {off: true}}}", "`cargo` was removed"),
        ("diagnostics: {servers: {ty: {args: x}}}", "unknown key `args`"),
        ("diagnostics: {wait: 31s}", "at most 30 seconds"),
        ("diagnostics: {wait: 0}", "expected a time"),
        ("diagnostics: {checkers: [ruff, ruff]}", "listed twice"),
        ("diagnostics: {checkers: ['../x']}", "is not one of"),
        ("diagnostics: {off: 'yes'}", "expected true or false"),
    ],
)
def test_a_mistake_is_named(text: str, said: str) -> None:
    with pytest.raises(PolicyError, match=re.escape(said)):
        load_policy(text)
