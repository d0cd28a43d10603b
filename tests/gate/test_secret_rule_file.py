"""A repository's own rules, in gitleaks' TOML: what they find, and where a mistake in them is."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.gate.secret_rule_file import RuleFileError, read_rules
from bot.gate.secrets import Finder

_FILE = r"""
title = "ours"

[[rules]]
id = "badge"
description = "A badge of ours"
regex = '''(?i)badge[=:]\s*([A-Z]{2}[0-9]{6})'''
keywords = ["BADGE"]

[[rules]]
id = "blob"
regex = '''\bblob_[a-z0-9]{12}'''
entropy = 3.0
[rules.allowlist]
stopwords = ["sample"]
regexes = ['''^blob_0''']

[[allowlists]]
regexTarget = "line"
regexes = ["# fine$"]
"""


@pytest.fixture(scope="module")
def finder() -> Finder:
    return Finder(read_rules(_FILE, ".github/leaks.toml"))


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("badge: AB123456 end", "badge: [redacted: badge] end"),
        ("Badge AB123456", "Badge AB123456"),
        ("blob_a1b2c3d4e5f6", "[redacted: blob]"),
        ("blob_aaaaaaaaaaaa", "blob_aaaaaaaaaaaa"),
        ("blob_0a1b2c3d4e5f", "blob_0a1b2c3d4e5f"),
        ("blob_sample1b2c3d", "blob_sample1b2c3d"),
        ("badge=AB123456 # fine\nbadge=CD123456", "badge=AB123456 # fine\nbadge=[redacted: badge]"),
    ],
)
def test_a_rule_finds_what_it_says_and_its_allowlist_lets_pass(
    finder: Finder, text: str, masked: str
) -> None:
    assert finder.masked(text) == masked


def test_the_built_in_patterns_hold_as_well(finder: Finder) -> None:
    assert finder.kind(b"npm_" + b"aB3" * 12) == "npm token"
    assert Detector(Redactor({}), finder).withhold("badge: AB123456") == (
        "withheld: it holds what looks like a credential (badge)"
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("[[rules]]\nregex = '(?=x)'\nid = 'b'", "rules.1.regex: google-re2 does not take"),
        ("[[rules]]\nid = 'b'\nregex = 'x'\npath = 'y'", "rules.1.path: Extra inputs"),
        ("[[rules]]\nregex = 'x'\nid = 'a'", "two rules are called 'a'"),
        ("[[rules]]\nid = 'b'", "rules.1.regex: Field required"),
        ("secretGroup = 2", "the expression has 0 groups"),
        ("entropy = 'high'", "rules.0.entropy: Input should be a valid number"),
        ("keywords = 'x'", "rules.0.keywords: Input should be a valid list"),
        ("[extend]\nuseDefault = true", "extend: Extra inputs"),
        ("[rules.allowlist]\nregexTarget = 'file'", "regexTarget: Input should be 'secret'"),
        ("x = ", "Invalid value (at "),
    ],
)
def test_a_mistake_is_told_with_its_place(more: str, said: str) -> None:
    with pytest.raises(RuleFileError, match=re.escape(said)) as caught:
        read_rules(f"[[rules]]\nid = 'a'\nregex = 'x'\n{more}\n", "leaks.toml")
    assert str(caught.value).startswith("leaks.toml: ")


def test_a51_no_rule_makes_a_text_slow() -> None:
    """A-51: the expression that takes others a second for 27 characters."""
    (rule,) = read_rules("[[rules]]\nid = 'slow'\nregex = '(a+)+$'\n", "x")
    began = time.thread_time()
    assert not list(rule(b"a" * 29 + b"!"))
    assert time.thread_time() - began < 1


def test_the_rules_that_the_docs_show_are_taken() -> None:
    page = Path(__file__).parents[2] / "docs" / "security.md"
    (shown,) = re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    assert Finder(read_rules(shown, "leaks.toml")).masked("badge: AB123456") == "badge: [redacted: badge]"
