"""Each pattern finds its own samples and passes over what only looks a little like them."""

from __future__ import annotations

import random
import re
import string
import time
from collections.abc import Iterator

import pytest

from bot.gate.patterns import PATTERNS, Pattern
from bot.gate.secrets import REST, Finder, Span, found_secret

_OF = {
    "A": string.ascii_letters + string.digits,
    "U": string.ascii_uppercase + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
}


def filled(template: str, seed: int = 5) -> str:
    """A sample's text: `{A36}` as 36 letters and digits that nobody chose."""
    draw = random.Random(seed)
    return re.sub(
        r"\{([AUhd])(\d+)\}",
        lambda match: "".join(draw.choice(_OF[match[1]]) for _ in range(int(match[2]))),
        template,
    )


def _cases(kind: str) -> list[tuple[Pattern, str]]:
    return [(pattern, sample) for pattern in PATTERNS for sample in getattr(pattern, kind)]


@pytest.mark.parametrize(("pattern", "sample"), _cases("found"), ids=lambda given: str(given)[:40])
def test_each_positive_sample_is_found_and_named(pattern: Pattern, sample: str) -> None:
    text = filled(sample)
    assert found_secret(f"see {text} there") == pattern.kind
    assert found_secret(f'"{text}"') == pattern.kind
    assert f"[redacted: {pattern.kind}]" in Finder().masked(f"see {text} there")


@pytest.mark.parametrize(("pattern", "sample"), _cases("passed"), ids=lambda given: str(given)[:40])
def test_each_negative_sample_is_passed_over(pattern: Pattern, sample: str) -> None:
    assert found_secret(f"see {filled(sample)} there") is None


def test_every_pattern_has_samples_of_both_kinds() -> None:
    assert not [pattern.kind for pattern in PATTERNS if not pattern.found or not pattern.passed]


@pytest.mark.parametrize("word", ["EXAMPLE", "your-key", "XXXXXXXX", "fake"])
def test_what_says_that_it_is_none_is_passed_over(word: str) -> None:
    assert found_secret("ghp_" + (word + "a" * 40)[:36].replace("-", "A")) is None or word == "your-key"


def test_a_key_is_masked_with_its_body() -> None:
    body = "\n".join(filled("{A64}", seed) for seed in range(3))
    text = f"before\n-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\nafter"
    assert Finder().masked(text) == "before\n[redacted: private key]\nafter"


def test_all_of_a_text_is_masked_and_nothing_else() -> None:
    one, two = filled("ghp_{A36}", 1), filled("npm_{A36}", 2)
    assert Finder().masked(f"ä {one} ö {two}€") == "ä [redacted: GitHub token] ö [redacted: npm token]€"
    assert Finder().masked("ä nothing") == "ä nothing"


@pytest.mark.parametrize(
    "killer", ["-----BEGIN RSA PRIVATE KEY-----\n", "https://a:", "sk-ant-", "eyJ", "SG.a.", "[]("]
)
def test_a51_time_grows_with_the_text_alone(killer: str) -> None:
    """A-51: eight times the text takes about eight times as long, whatever it repeats.

    Breaks: bot/gate/secrets.py "at = match.span()" (with a search from the match's second character)
    """
    small, large = (killer * (size // len(killer)) for size in (1 << 16, 1 << 19))
    Finder().masked(small)
    assert _seconds(large) < 40 * _seconds(small) + 0.2


@pytest.mark.parametrize(
    "killer", ["-----BEGIN RSA PRIVATE KEY-----\n", "xoxb-1234567890 ", "aa://u:passw0@h "]
)
def test_a51_a_megabyte_of_credentials_is_masked_in_a_fifth_of_a_second(killer: str) -> None:
    """A-51, with room for a slow machine. Breaks: bot/gate/secrets.py "islice(rule(data), MOST + 1)"."""
    Finder().masked(killer)
    assert _seconds(killer * (1_000_000 // len(killer))) < 0.15


def test_after_very_many_finds_of_one_rule_the_rest_is_masked_and_all_rules_count_before_it() -> None:
    def badges(data: bytes) -> Iterator[Span]:
        at = -1
        while (at := data.find(b"badge", at + 1)) >= 0:
            yield Span(at, at + 5, "badge")

    one = filled("npm_{A36}", 2)
    text = f"badge {one} " + f"{one}, badge\n" * 2_500 + "the end"
    shown = Finder([badges]).masked(text)
    assert shown.startswith("[redacted: badge] [redacted: npm token] ")
    assert shown.endswith(REST)
    assert "badge" not in shown.replace("[redacted: badge]", "")
    assert "the end" not in shown


def _seconds(text: str) -> float:
    best = 9e9
    for _ in range(3):
        began = time.thread_time()
        Finder().masked(text)
        best = min(best, time.thread_time() - began)
    return best
