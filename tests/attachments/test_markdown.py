"""Pictures are found where GitHub would show one, and nowhere else; in time linear in the text."""

from __future__ import annotations

import time

import pytest

from bot.attachments.markdown import pictures_in, sources_in

A = "https://github.com/user-attachments/assets/0f0f0f0f-1111-4222-8333-444455556666"
B = "https://user-images.githubusercontent.com/1/2-b.png"


def addresses(text: str) -> list[str]:
    return [found.address for found in pictures_in(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"![shot]({A})", [A]),
        (f"![]({A})", [A]),
        (f"see ![shot]( <{A}> 'a title' ) there", [A]),
        (f'![shot]({A}\n "title")', [A]),
        (f'<img width="9" alt="x" src="{A}" />', [A]),
        (f"<IMG SRC={A}>", [A]),
        (f"<img src='{A}'>", [A]),
        (f'<picture><source srcset="x"><img\n src="{A}"\n></picture>', [A]),
        (f"![shot][one]\n\n[one]: {A}", [A]),
        (f"![One  Two][]\n\n[one two]: <{A}> 'title'", [A]),
        (f"![one]\n\n[ONE]: {A}\n[one]: {B}", [A]),
        (f"![a]({A}) and ![b]({B})", [A, B]),
        (f"[![a]({A})](https://example.org)", [A]),
        (f"`code` ![a]({A}) `code`", [A]),
        (f"```\nnot closed by ~~~\n```\n![a]({A})", [A]),
        (f"a ` alone ![a]({A})", [A]),
        ("![a](https://x.example/?a=1&amp;b=2)", ["https://x.example/?a=1&b=2"]),
    ],
)
def test_a_picture_is_found_however_it_is_written(text: str, found: list[str]) -> None:
    assert addresses(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "no picture at all",
        f"[a link]({A})",
        f"{A}",
        f"\\![shot]({A})",
        f"`![shot]({A})`",
        f"`` ` ![shot]({A}) ``",
        f"```\n![shot]({A})\n```",
        f"~~~~ md\n~~~\n![shot]({A})\n~~~~",
        f"```\nnever closed ![shot]({A})",
        "![shot][missing]",
        "![shot]()",
        "<img alt='no source'>",
        f"<imgs src='{A}'>",
        f"![shot]({A}",
    ],
)
def test_what_github_does_not_show_as_a_picture_is_none(text: str) -> None:
    assert addresses(text) == []


def test_a_quotation_is_said_to_be_one() -> None:
    found = pictures_in(f"> ![a]({A})\n\n  > - <img src='{B}'>\n\n![c]({A}) > not a quotation\n")
    assert [picture.quoted for picture in found] == [True, True, False]


def test_it_is_known_where_each_ends_also_with_lines_of_windows() -> None:
    text = f"one\r\n![a]({A})\r\ntwo <img src='{B}'> three"
    ends = [text[: picture.end] for picture in pictures_in(text)]
    assert ends == [f"one\r\n![a]({A})", f"one\r\n![a]({A})\r\ntwo <img src='{B}'>"]


def test_a_source_in_an_alternative_text_is_none() -> None:
    assert [one.address for one in pictures_in(f"<img alt='src={A}' src={B}>")] == [B]


def test_the_first_source_of_a_tag_counts_as_it_does_in_a_browser() -> None:
    assert addresses(f"<img src='{A}' src='{B}'>") == [A]


def test_the_addresses_of_rendered_html() -> None:
    html = f'<p><a href="{B}"><img src="{A}?jwt=a&amp;b" alt="x"></a></p><img alt="none">'
    assert list(sources_in(html)) == [f"{A}?jwt=a&b"]


HOSTILE = {
    "openings": "![" * 20_000,
    "nested": "![![](" * 10_000,
    "half": "![a](x" * 10_000,
    "titles": '![a](x "' * 20_000,
    "tags": "<img " * 12_000,
    "attributes": "<img " + "src " * 12_000,
    "ticks": "`" + "".join("`" * (n % 300) + " " for n in range(1_000)),
    "ticks alone": "` `` " * 12_000 + "![a](b)",
    "fences": "```\n" * 12_000 + "![a](b)",
    "definitions": "[a]: b\n" * 8_000 + "![a]" * 8_000,
    "references": "![a][" * 12_000,
    "one word": "![" + "a" * 200_000,
    "shown": "![a](b)" * 8_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str) -> None:
    """Some 40 to 200 kB, more than intake lets through; what is quadratic takes much longer."""
    begun = time.process_time()
    pictures_in(HOSTILE[name])
    assert time.process_time() - begun < 5
