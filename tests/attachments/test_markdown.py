"""Pictures and links are found in the form that a request's texts have; in time linear in the text."""

import time

import pytest

from bot.attachments.markdown import addresses_in, pictures_in, sources_in

A = "https://github.com/user-attachments/assets/0f0f0f0f-1111-4222-8333-444455556666"
B = "https://user-images.githubusercontent.com/1/2-b.png"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"![]({A})", [A]),
        (f"see ![shot]( <{A}> 'a title' ) there", [A]),
        (f'![shot]({A}\n "title")', [A]),
        (f'<img width="9" alt="x" src="{A}" />', [A]),
        (f"<IMG SRC={A}>", [A]),
        (f"<img src='{A}' src='{B}'>", [A]),
        (f"<img alt='src={A}' src={B}>", [B]),
        (f'<picture><source srcset="x"><img\n src="{A}"\n></picture>', [A]),
        (f"![a]({A}) and ![b]({B})", [A, B]),
        (f"[![a]({A})](https://example.org)", [A]),
        ("![a](https://x.example/?a=1&amp;b=2)", ["https://x.example/?a=1&b=2"]),
        (f"[a link]({A}), {A}", []),
        (f"`code` ![a]({A}) `code`", [A]),
        (f"a ` alone ![a]({A})", [A]),
        (f"`` ` ![shot]({A}) ``", []),
        (f"> ```\n> ![shot]({A})\n> ```\n![b]({B})", [B]),
        (f"~~~~ md\n~~~\n![shot]({A})\n~~~~", []),
        (f"```\nnever closed ![shot]({A})", []),
        ("![shot]() <img alt='no source'>", []),
        (f"<imgs src='{A}'> ![shot]({A}", []),
    ],
)
def test_pictures_are_found(text: str, found: list[str]):
    assert [one.address for one in pictures_in(text)] == found


def test_a_quotation_is_said_to_be_one():
    found = pictures_in(f"> ![a]({A})\n\n  > - <img src='{B}'>\n\n![c]({A}) > not a quotation\n")
    assert [picture.quoted for picture in found] == [True, True, False]
    assert [one.quoted for one in addresses_in(f"> {A}\r\nand {B}.")] == [True, False]


def test_it_is_known_where_each_ends_also_with_lines_of_windows():
    text = f"one\r\n![a]({A})\r\ntwo <img src='{B}'> three"
    ends = [text[: picture.end] for picture in pictures_in(text)]
    assert ends == [f"one\r\n![a]({A})", f"one\r\n![a]({A})\r\ntwo <img src='{B}'>"]


def test_the_addresses_of_rendered_html():
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
    "one word": "![" + "a" * 200_000,
    "shown": "![a](b)" * 8_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_text_takes_long(name: str):
    """Some 40 to 200 kB, more than intake lets through; what is quadratic takes much longer."""
    begun = time.process_time()
    pictures_in(HOSTILE[name])
    assert time.process_time() - begun < 5
