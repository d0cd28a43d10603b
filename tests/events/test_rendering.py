"""What a page draws or lays out and does not show is taken out and counted."""

from __future__ import annotations

import pytest

from bot.events.hygiene import clean
from bot.events.removals import ELEMENT
from bot.events.rendering import CELL, DIAGRAM, FORMULA, LINK, MAP


@pytest.mark.parametrize(
    ("text", "shown", "kind", "count"),
    [
        ("| a |\n|-|\n| x | HIDDEN |\n| y |\n\nb | c", "| a |\n|-|\n| x |\n| y |\n\nb | c", CELL, 1),
        ("| a |\n|-|\n| `x|HIDDEN` |\n", "| a |\n|-|\n| `x|\n", CELL, 1),
        ("> a | b\n> -|-\n> 1 | 2 | HIDDEN\n- c | d | e", "> a | b\n> -|-\n> 1 | 2 |\n- c | d | e", CELL, 1),
        ("a | b\n-|-\n1 \\| 2 | 3 | HIDDEN", "a | b\n-|-\n1 \\| 2 | 3 |", CELL, 1),
        ("<ruby>x<rp>HIDDEN</rp><rt>y</rt></ruby>", "<ruby>x<rt>y</rt></ruby>", ELEMENT, 1),
        ("a <rp>HIDDEN `HIDDEN`\n\nHIDDEN", "a ", ELEMENT, 1),
        ("a [](HIDDEN) [ ][HIDDEN] [](<HIDDEN HIDDEN>) b", "a    b", LINK, 3),
        ("```mermaid\ngraph TD\n %% HIDDEN\n A-->B\naccTitle: HIDDEN\n```",
         "```mermaid\ngraph TD\n A-->B\n```", DIAGRAM, 2),
        ('```geojson\n{"properties": {"x": "HIDDEN"}}\n```\na', "```geojson\n```\na", MAP, 1),
        ("$\\phantom{HIDDEN {HIDDEN}}a$", "$a$", FORMULA, 1),
        ("$$\n\\color{white}{HIDDEN} x % HIDDEN\n$$", "$$\n x \n$$", FORMULA, 1),
        ("$`\\textcolor{#fff}{HIDDEN}a`$", "$`a`$", FORMULA, 1),
        ("```math\n\\hphantom{HIDDEN}x\n```", "```math\nx\n```", FORMULA, 1),
    ],
)  # fmt: skip
def test_a63_what_is_not_shown_is_taken_out_and_counted(text: str, shown: str, kind: str, count: int) -> None:
    cleaned = clean(text)
    assert cleaned.text == shown
    assert [(one.kind, one.count) for one in cleaned.hidden] == [(kind, count)]


@pytest.mark.parametrize(
    "text",
    [
        "a || b | c - d",
        "```\n| a |\n|-|\n| x | shown |\n```\n",
        "| a | b |\n|-|-|\n| x | y |\n<p>\n| c | d | e |\n",
        "f = [](int a) { return a; }",
        "[ ] (a) and - [x] (b)",
        "`[](a)` and `$a$ % b`",
        "$5 (10% off) or $6, $HOME/%s/$USER",
        "<ruby>x<rp>(</rp><rt>y</rt><rp>)</rp></ruby>",
        "```python\n%% cell\n```\n",
    ],
)
def test_a63_what_is_shown_stays(text: str) -> None:
    cleaned = clean(text)
    assert (cleaned.text, cleaned.hidden) == (text, ())
