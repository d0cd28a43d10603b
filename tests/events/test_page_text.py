"""What GitHub's page shows of a text is read, as Markdown; what it does not show is left out and counted."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.events.page_text import ELEMENT, LINK, TITLE, WORDS, page_text, shown_text
from bot.events.sanitize import CHARACTER, COMMENT, DIAGRAM, FORMULA, MAP
from slash_forge.rendering import to_html
from tests.events.rendered import seen, unsanitized

READABLE = {
    "# A *b*\n\nc **d** ~~e~~": "# A *b*\n\nc **d** ~~e~~",
    "one\ntwo  \nthree\\\nfour": "one\ntwo\nthree\nfour",
    "> a\n> > b\n>\n> c": "> a\n>\n> > b\n>\n> c",
    "- a\n  - b\n\n    c\n- d": "- a\n  - b\n\n    c\n- d",
    "7. a\n8. b": "7. a\n8. b",
    "- [x] a\n- [ ] b": "- [x] a\n- [ ] b",
    "| a | b |\n|---|:-:|\n| 1 | `2` |": "| a | b |\n|---|---|\n| 1 | `2` |",
    "```python\nx = 1\n\n\n  y\n```": "```python\nx = 1\n\n\n  y\n```",
    "````\n```\n````": "````\n```\n````",
    "`` a`b ``": "``a`b``",
    "[a](https://b.example/c)": "[a](https://b.example/c)",
    "https://b.example/c and www.b.example": "https://b.example/c and www.b.example",
    "<https://b.example>, a@b.example": "https://b.example, a@b.example",
    "![a](https://b.example/c.png)": "![](https://b.example/c.png)",
    "[![a](b.png)](https://c.example)": "[![](b.png)](https://c.example)",
    "a[^1]\n\n[^1]: b": "a<sup>1</sup>\n\n1. b \u21a9",
    "H<sub>2</sub>O <kbd>a</kbd>": "H<sub>2</sub>O a",
    "<details><summary>log</summary>\n\nline\n</details>": "<details>\n<summary>log</summary>\n\nline\n</details>",
    "a\n\n---\n\nb": "a\n\n---\n\nb",
    "&amp; &lt; &copy; \\* \\_": "& < \u00a9 * _",
    "if (a < b && c > d) { x = y <!= z; }": "if (a < b && c > d) { x = y <!= z; }",
    "the `<!--` marker in running text, unterminated": "the `<!--` marker in running text, unterminated",
    "```\n[//]: # (seen)\n<?php echo 1 ?>\n```": "```\n[//]: # (seen)\n<?php echo 1 ?>\n```",
    "```html\n<p hidden>an example</p> ![alt](x) &#8203; &lt;\n```": (
        "```html\n<p hidden>an example</p> ![alt](x) &#8203; &lt;\n```"
    ),
    "`<input hidden>` and `![alt](x)`": "`<input hidden>` and `![alt](x)`",
    "The log says:\n[ERROR]: refused\n[INFO]: done": "The log says:\n[ERROR]: refused\n[INFO]: done",
    '<b class="evil evil" id=b>b</b>': "**b**",
    "a || b | c - d": "a || b | c - d",
    "f = [](int a) { return a; }": "f = [](int a) { return a; }",
    "`[](a)` and `$a$ % b`": "`[](a)` and `$a$ % b`",
    "$5 (10% off) or $6, $HOME/%s/$USER": "$5 (10% off) or $6, $HOME/%s/$USER",
    "```python\n%% cell\n```": "```python\n%% cell\n```",
    "\U0001f468\u200d\U0001f469 1\ufe0f\u20e3": "\U0001f468\u200d\U0001f469 1\ufe0f\u20e3",
}

# What nobody sees on GitHub is `evil`.
UNSEEN = [
    "a<!-- evil -->b", "a<!-- evil\nevil -->b", "<!-- evil", "seen\n  <!-- evil\nevil", "seen\n> <!-- evil\nevil",
    "<img src=x alt='evil'>b", '<a href=x title="evil > evil" data-x=evil>b</a>', "![evil](x.png)",
    "![evil][x]\n\n[x]: y.png", '[b](x.html "evil")', "a\n\n[//]: # (evil)\nb", "[comment]: <> (evil\nevil)\n\nb",
    "# a\n[x]: y\n[evil evil]: z 'evil'\nb", "> - [//]: # (evil)", '[b][1]\n\n[1]: x.html\n  "evil"\n',
    "b[^1]\n\n[^1]: seen\n\n[^2]: evil\nevil\n\nb", "b\n\n[^2]: evil\n\n    evil\n\nb", "a<?php evil ?>b",
    "a<!DOCTYPE evil>b<![CDATA[evil]]>c", "b\n\n<? evil `evil`\nevil",
    "b <? b `b` <? b `b`\n<? evil `evil`<? evil>", "```b evil evil\nb\n```\n",
    "~~~ c++ evil `evil`", f"```{'evil' * 11}\nb\n```", "<picture>evil<source srcset=evil><img src=x></picture>",
]  # fmt: skip

# Elements that an attribute hides: GitHub's sanitizer removes the attribute.
HIDDEN_BY_ATTRIBUTE = {
    "a<p hidden>evil</p>b": "ab",
    "a<div style='display: none'>e<div>v</div>il</div>b": "ab",
    '<span style="font-size:0">evil</span>b': "b",
    "<b STYLE=opacity:0>evil</b>b": "b",
    "<i style='position:absolute;left:-9999px'>evil</i>b": "b",
    "<i style='text-indent:-999em'>evil</i>b": "b",
    "<i style='visib<!-- -->ility:hidden'>evil</i>b": "b",
    "<i style='display&#58;none'>evil</i>b": "b",
    "a<p hidden>never closed": "a",
    "<i hidden>evil `evil` evil</i>b `b`": "b `b`",
    "a<i hidden>evil <?</i> ?>evil</i>b": "ab",
}

# Each looks like code around an element, and is none as GitHub reads it.
NO_CODE = [
    "``` `\n{}", "- ```\n  b\n  ```\n\n{}", "- b\n  ```\n  b\n\nb {}", "> ```\n{}", "1. b\n   ```\n{}",
    "<div>\n```\n{}\n</div>", "<pre>\n\n`{}`\n</pre>", "<x-b>\n`{}`\n", "[a]: b\n-\n  ```\n{}",
    "[^1]: b\n-\n  ```\n{}\n\n[^1]", "<!-- b -->```\n{}", "<b>\n<b id='\n\n```\n{}\n```\n'>",
    "b <!--\n```\n-->\n```\n{}", "- <!-- b\n-->\n```\n{}", "b <?<b id='?>\n```\n{}\n```\n'>", "\\`{}`",
    "<b id='`'>{}`", "<b id='\n`'>{}`", "[a](`) {} `", "[a](b 'x` y') {} `", "[b][`] {} `\n\n[`]: c",
    "https://b.example/`b {} `", "www.b.example/`b {} `", "<https://b`b> {} `", "<b`b@b.example> {} `",
    "b `b\nb` {} `b`", "`` b\n` `` {} `", "`````````` ` `````````` {} `", "a | b\n--|--\n` | {} `",
    "a\r- `b\r- {}`",
]  # fmt: skip


FORMULAS = [
    ("```mermaid\ngraph TD\n %% HIDDEN\n A-->B\naccTitle: HIDDEN\n```",
     "```mermaid\ngraph TD\n A-->B\n```", DIAGRAM, 2),
    ('```geojson\n{"properties": {"x": "HIDDEN"}}\n```\na', "```geojson\n```\n\na", MAP, 1),
    ("$\\phantom{HIDDEN {HIDDEN}}a$", "$a$", FORMULA, 1),
    ("$$\n\\color{white}{HIDDEN} x % HIDDEN\n$$", "$$\n x \n$$", FORMULA, 2),
    ("$`\\textcolor{#fff}{HIDDEN}a`$", "$a$", FORMULA, 1),
    ("```math\n\\hphantom{HIDDEN}x\n```", "$$x\n$$", FORMULA, 1),
    ("a [](HIDDEN) [ ](HIDDEN) [](<HIDDEN HIDDEN>) b", "a    b", LINK, 3),
]  # fmt: skip
SURPLUS = {
    "| a |\n|-|\n| x | HIDDEN |\n| y |\n\nb | c": "| a |\n|---|\n| x |\n| y |\n\nb | c",
    "| a |\n|-|\n| `x|HIDDEN` |\n": "| a |\n|---|\n| `x |",
    "> a | b\n> -|-\n> 1 | 2 | HIDDEN\n- c | d | e": "> | a | b |\n> |---|---|\n> | 1 | 2 |\n\n- c | d | e",
    "a | b\n-|-\n1 \\| 2 | 3 | HIDDEN": "| a | b |\n|---|---|\n| 1 \\| 2 | 3 |",
    "<ruby>x<rp>HIDDEN</rp><rt>y</rt></ruby>": "xy",
    "a <rp>HIDDEN `HIDDEN`\n\nb": "a\n\nb",
}

_WORD = re.compile(r"\w+")


@pytest.mark.parametrize("markdown", READABLE)
def test_what_people_see_is_readable_markdown(markdown: str):
    assert page_text(to_html(markdown)).text == READABLE[markdown]


@pytest.mark.parametrize("markdown", UNSEEN)
def test_a04_what_the_page_does_not_show_is_left_out_and_told(markdown: str):
    shown = shown_text(markdown, to_html(markdown))
    assert "evil" not in shown.text
    assert shown.hidden


@pytest.mark.parametrize("markdown", HIDDEN_BY_ATTRIBUTE)
def test_a113_an_element_that_the_html_hides_is_left_out(markdown: str):
    """Should GitHub's sanitizer once leave what hides it."""
    page = page_text(unsanitized(markdown))
    assert page.text.replace("\n", "") == HIDDEN_BY_ATTRIBUTE[markdown]
    assert ELEMENT in page.hidden


@pytest.mark.parametrize("markdown", HIDDEN_BY_ATTRIBUTE)
def test_a04_an_element_that_its_source_hides_is_left_out_and_told(markdown: str):
    shown = shown_text(markdown, to_html(markdown))
    assert not re.search("evil|never|closed", shown.text)
    assert shown.hidden[ELEMENT] == 1


@pytest.mark.parametrize(
    "markdown",
    ["```html\n<p hidden>seen</p>\n```", "`<i hidden>seen</i>`", "<b style='opacity: 0.5; font-size: 0.9em'>seen</b>",
     "Do not. <i hidden>not</i> seen", "seen <i hidden></i>", "<b>seen</b> <br hidden> seen"],
)  # fmt: skip
def test_a113_no_text_is_taken_with_it_that_people_read(markdown: str):
    assert shown_text(markdown, to_html(markdown)).text == page_text(to_html(markdown)).text


@pytest.mark.parametrize("markdown", [*UNSEEN, *HIDDEN_BY_ATTRIBUTE, *SURPLUS])
def test_a04_no_word_is_left_that_people_do_not_see(markdown: str):
    html = to_html(markdown)
    addresses = "".join(re.findall(r'(?:src|href|lang)="([^"]*)"', html))
    words = _WORD.findall(re.sub("</?sup>", "", page_text(html).text))
    assert [word for word in words if word not in seen(html) + addresses] == []


@pytest.mark.parametrize("markdown", NO_CODE)
def test_a04_what_only_looks_like_code_keeps_nothing_hidden(markdown: str):
    html = to_html(markdown.replace("{}", "<i hidden>evil</i>"))
    assert ("evil" in page_text(html).text) <= ("evil" in seen(html))


@pytest.mark.parametrize(("markdown", "shown", "kind", "count"), FORMULAS)
def test_a63_what_is_drawn_and_not_shown_is_left_out_and_counted(
    markdown: str, shown: str, kind: str, count: int
):
    page = page_text(to_html(markdown))
    assert (page.text, page.hidden) == (shown, {kind: count})


@pytest.mark.parametrize("markdown", SURPLUS)
def test_a63_what_is_laid_out_and_not_shown_is_left_out_and_told(markdown: str):
    shown = shown_text(markdown, to_html(markdown))
    assert shown.text == SURPLUS[markdown]
    assert "HIDDEN" not in markdown or WORDS in shown.hidden


_PIECES = [
    "<p>", "<div hidden>", "</div>", "<b title='x'>", "</b>", "<!--", "-->", "`", "\n", "\n\n", "> ", "- ", "| ",
    "|-|\n", "[", "](y)", "![", "$", "```\n", "WORD", "<i style='left:0'>", "</i>", "<rp>", "</rp>", "[^1]", "[^1]: ",
    "<? ",
]  # fmt: skip


@given(st.lists(st.sampled_from(_PIECES), max_size=20))
def test_a04_no_arrangement_of_markup_leaves_a_word_that_people_do_not_see(pieces: list[str]):
    markdown = "".join(piece.replace("WORD", f"w{number}w") for number, piece in enumerate(pieces))
    html = to_html(markdown)
    named = re.compile(r"w\d+w")
    assert set(named.findall(page_text(html).text)) <= set(named.findall(seen(html)))


def test_what_is_hidden_is_told_by_kind():
    source = "one\n<!-- a -->\n\n![alt](x)\u200b `<!--`\n<!-- b\n-->\n\n[two]: three"
    assert shown_text(source, to_html(source)).hidden == {COMMENT: 2, TITLE: 1, CHARACTER: 1, WORDS: 2}


GITHUB = {
    '<p dir="auto">see <a class="user-mention notranslate" href="https://github.com/ann">@ann</a>, '
    '<a class="issue-link js-issue-link" href="https://github.com/o/r/issues/7">#7</a></p>': "see @ann, #7",
    f'<p>at <a class="commit-link" href="https://github.com/o/r/commit/{"1a" * 20}"><tt>{"1a" * 3}1</tt></a></p>': (
        f"at [{'1a' * 3}1](https://github.com/o/r/commit/{'1a' * 20})"
    ),
    '<div class="highlight highlight-source-python" dir="auto"><pre class="notranslate"><span class="pl-k">def</span> '
    'f():\n    <span class="pl-k">pass</span></pre></div>': "```python\ndef f():\n    pass\n```",
    '<div class="markdown-alert markdown-alert-note"><p class="markdown-alert-title"><svg><path d="M0"></path>'
    "</svg>Note</p><p>Read it.</p></div>": "Note\n\nRead it.",
    '<p><a target="_blank" href="https://camo.githubusercontent.com/ab"><img alt="" '
    'src="https://camo.githubusercontent.com/ab" data-canonical-src="https://a.example/b.png" style="max-width: 100%;">'
    "</a></p>": "![](https://a.example/b.png)",
    '<div class="email-fragment">Yes.</div><span class="email-hidden-toggle"><a href="#">…</a></span>'
    '<div class="email-hidden-reply" style="display:none"><div class="email-quoted-reply">No?<br>Sure?</div></div>': (
        "Yes.\n\n…\n\n> No?\n> Sure?"
    ),
    '<ul class="contains-task-list"><li class="task-list-item"><input type="checkbox" class="task-list-item-checkbox" '
    "disabled> a</li></ul>": "- [ ] a",
    '<p><g-emoji class="g-emoji" alias="tada">\U0001f389</g-emoji></p>': "\U0001f389",
    '<section class="footnotes" data-footnotes><h2 class="sr-only">Footnotes</h2><ol><li><p>a <a href="#x" '
    'data-footnote-backref aria-label="Back">↩</a></p></li></ol></section>': "## Footnotes\n\n1. a \u21a9",
}


@pytest.mark.parametrize("html", GITHUB)
def test_what_github_adds_to_the_html_is_read_as_it_is_meant(html: str):
    assert page_text(html).text == GITHUB[html]


@pytest.mark.parametrize(
    "address",
    [
        "https://private-user-images.githubusercontent.com/1/2-ab.png?jwt=SECRET",
        "https://github.example/storage/user/1/files/ab?token=SECRET",
    ],
)
def test_a112_no_signed_address_reaches_the_model(address: str):
    html = f'<a href="{address}"><img src="{address}"></a> <a href="{address}">x</a> <video src="{address}"></video>'
    text = page_text(html).text
    assert "SECRET" not in text
    assert text.count(address.partition("?")[0]) == 3


@pytest.mark.parametrize(
    "html",
    ["<section>" * 400 + "x", "<b>" * 20_000, "<b>x" * 10_000, "<blockquote>" * 5_000 + "x", "<ul><li>" * 4_000 + "x",
     "</div>" * 20_000,
     "<pre>" * 9_000, "<table><tr><td>" * 3_000, "<section data-type=mermaid>" * 2_000, "<a href=x>" * 9_000],
    ids=lambda html: str(html)[:12],
)  # fmt: skip
def test_a51_html_nested_without_end_is_read(html: str):
    assert page_text(html).text.count("x") <= html.count("x")
