"""The pages people open, right and safe whatever is written into them; and the HTML of texts: GitHub's renderer, its
published allow-list, and each answer of the API that has a text."""

import builtins
import re
import string
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest
from github.Repository import Repository
from hypothesis import given
from hypothesis import strategies as st

from slash_forge import Forge
from slash_forge.rendering import to_html, to_text
from slash_forge.web.markup import render
from tests.slash_forge.conftest import REPO, Wire

Page = Callable[[str], str]


@pytest.fixture
def page(wire: Callable[..., Wire]) -> Page:
    def page(path: str) -> str:
        answer = wire()("GET", path)
        assert answer.status == 200, answer.body
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        return answer.body.decode()

    return page


def test_a_pull_request_shows_title_state_branches_body_and_diff(forge: Forge, repo: Repository, page: Page):
    forge.commit(REPO, {"calc.py": "def add(a, b):\n    return a + b\n"}, branch="topic", message="Add")
    told = {"title": "Add, do not subtract", "body": "Fixes #1", "draft": True}
    html = page(f"/{REPO}/pull/{repo.create_pull(base='main', head='topic', **told).number}")
    assert "Add, do not subtract" in html
    assert '<span class="badge draft">Draft</span>' in html
    assert '<code class="ref">main</code> from <code class="ref">topic</code>' in html
    assert re.search(r'Fixes <a href="[^"]+/acme/lib/issues/1">#1</a>', html)
    assert "return a <mark>+</mark> b" in html


@pytest.mark.parametrize(
    "path",
    ["/acme/secret", "/acme/secret/issues/1", f"/{REPO}/pull/99", f"/{REPO}/nothing", "/x", "/a/b/c/d"],
)
def test_what_is_not_there_or_private_is_not_found(forge: Forge, wire: Callable[..., Wire], path: str):
    forge.create_repository("acme", "secret", private=True)
    forge.create_issue("acme/secret", "acme", "x")
    assert wire()("GET", path).status == 404


# -- safety

RENDERED = {
    "#1 `#2` [#3](http://x) a#4 &#8230;": '<a href="u/issues/1">#1</a> <code>#2</code> <a href="http://x">#3</a> a#4 …',
    "@ada b@c.example": '<span class="mention">@ada</span> <a href="mailto:b@c.example">',
    "- [x] done": '<input disabled="" checked="" type="checkbox"> done',
    "> [!WARNING]\n> Look.": '<blockquote class="alert warning">\n<p>Warning<br>\nLook.</p>',
    "> [!OTHER]\n> Look.": "<blockquote>\n<p>[!OTHER]<br>",
    "![d](http://e/x.png)": '<span class="image">d</span>',
    "```suggestion\nx < y\n```": '<span class="quiet">Suggested change</span><pre lang="suggestion"><code>x &lt; y',
    "<details><summary>a</summary>\n\nb\n\n</details>": "<details><summary>a</summary>\n<p>b</p>\n</details>",
}


@pytest.mark.parametrize("markdown", RENDERED)
def test_a_text_is_rendered(markdown: str):
    assert RENDERED[markdown] in render(markdown, "u")


NASTY = """<script>alert(1)</script><img src=x onerror=alert(1)><details ontoggle=alert(1) open>
[a](javascript:alert(1)) [b](data:text/html,x) <a href="http://evil">c</a> ![d](http://evil/x.png)
<!-- aside-only --><svg/onload=alert(1)> <style>*{}</style> <iframe src=x></iframe> <b onclick=x>e</b> "><p
"""


class Audit(HTMLParser):
    """Collects what could act: tags, attributes and addresses that have no business on the page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "svg", "object", "embed", "form", "base", "video", "math"):
            self.found.append(tag)
        for name, value in attrs:
            bad_address = name in ("href", "src") and not re.match(r"(?:https?:|mailto:|[^:]*$)", value or "")
            if name.startswith("on") or name in ("srcdoc", "formaction") or bad_address:
                self.found.append(f"{tag} {name}={value}")


def audit(html: str) -> list[str]:
    parser = Audit()
    parser.feed(html)
    return parser.found


def test_nothing_written_by_others_can_act(forge: Forge, repo: Repository, page: Page):
    forge.add_user("mallory", name=NASTY)
    forge.commit(REPO, {f"{name}.txt": NASTY for name in ("a<b>", "x")}, branch="nasty", message=NASTY)
    pull = repo.create_pull(base="main", head="nasty", title=NASTY.splitlines()[0], body=NASTY)
    forge.comment(REPO, pull.number, "mallory", NASTY)
    html = page(f"/{REPO}/pull/{pull.number}")
    assert audit(html) == []
    assert "aside-only" not in html.partition('id="files"')[0]
    assert html.count("<style>") == 1


@given(st.text(alphabet=string.printable + "é<>&\"'`[]()!#@-", max_size=120))
def test_no_markdown_makes_anything_that_acts(text: str):
    assert audit(render(text, "http://127.0.0.1/o/r")) == []


# Written from the published rules of GitHub Flavored Markdown and of the allow-list.
EXAMPLES = {
    "a\nb": "<p>a<br>\nb</p>\n",
    "~~a~~ **b**": "<p><del>a</del> <strong>b</strong></p>\n",
    "www.a.example, b@a.example": (
        '<p><a href="http://www.a.example">www.a.example</a>, <a href="mailto:b@a.example">b@a.example</a></p>\n'
    ),
    "- [x] a": '<ul>\n<li><input disabled="" checked="" type="checkbox"> a</li>\n</ul>\n',
    "|a|\n|-|\n|b|c|": (
        "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n"
    ),
    "```py x\na\n```": '<pre lang="py"><code>a\n</code></pre>\n',
    "<script>a</script>": "&lt;script&gt;a&lt;/script&gt;\n",
    "<b onclick=x class=y id=z style='color:red' hidden>a</b>": '<p><b id="z">a</b></p>\n',
    "<form><label>a</label></form>": "a\n",
    "<a href='javascript:x'>a</a> <a href='JAVA\tSCRIPT:x'>b</a> <a href=/c>d</a>": (
        '<p><a>a</a> <a>b</a> <a href="/c">d</a></p>\n'
    ),
    "<img src='data:x' alt=a>": '<img alt="a">\n',
    "a<!-- b -->c<!---->d": "<p>acd</p>\n",
    "<!-- a\n\nb": "",
    "a<?b c?>d<!E f>g<![CDATA[h]]>i": "<p>adgi</p>\n",
    "<div>\n\na\n": "<div>\n<p>a</p>\n</div>",
    "a</div></b>b": "<p>ab</p>\n",
    "<svg><title>a</title></svg>": "<p>&lt;title&gt;a&lt;/title&gt;</p>\n",
    "<details open><summary>a</summary>b</details>": '<details open=""><summary>a</summary>b</details>\n',
    "$`a`$": '<p><math-renderer class="js-inline-math" style="display: inline-block">$a$</math-renderer></p>\n',
}


@pytest.mark.parametrize("markdown", EXAMPLES)
def test_markdown_is_rendered_and_sanitized_as_published(markdown: str):
    assert to_html(markdown) == EXAMPLES[markdown]


def test_a_drawing_is_an_enrichment_with_its_source():
    html = to_html("```mermaid\nA-->B\n```")
    assert 'data-type="mermaid"' in html
    assert 'data-plain="A--&gt;B\n"' in html


def test_the_text_is_that_of_the_html():
    assert to_text(to_html("**a** &amp; <!-- b -->c")) == "a & c\n"


def test_the_demo_renders_where_the_renderer_is_not_installed(monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without_it(name: str, *rest: Any) -> Any:
        if name.startswith("cmarkgfm"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_it)
    assert to_html("**a** <!-- b --><i onclick=x>c</i>\nd") == "<p><strong>a</strong> <i>c</i><br>\nd</p>\n"


SOURCE, HTML, TEXT = "**a** <!-- b -->", "<p><strong>a</strong> </p>\n", "a \n"


@pytest.fixture
def pull(forge: Forge) -> int:
    """A pull request whose every text is `SOURCE`."""
    forge.commit(REPO, {"calc.py": "def add(a, b):\n    return a + b\n"}, branch="fix")
    number = forge.open_pull(REPO, "ada", "fix", body=SOURCE)
    forge.comment(REPO, number, "ada", SOURCE)
    forge.review(REPO, number, "ada", SOURCE)
    forge.review_comment(REPO, number, "ada", "calc.py", 2, body=SOURCE)
    return number


@pytest.mark.parametrize(
    "path",
    [
        "pulls/{}", "issues/{}", "issues", "issues/{}/comments", "issues/comments", "pulls/{}/reviews",
        "pulls/{}/comments",
    ],
)  # fmt: skip
def test_a_text_comes_with_its_html_where_it_is_asked_for(
    pull: int, wire: Callable[[str], Wire], bot_token: str, path: str
):
    where = f"/repos/{REPO}/{path.format(pull)}"
    plain = wire(bot_token).api("GET", where).json
    full = wire(bot_token).api("GET", where, Accept="application/vnd.github.full+json").json
    rows = full if isinstance(full, list) else [full]
    assert {(row["body"], row["body_html"], row["body_text"]) for row in rows if row["body"]} == {
        (SOURCE, HTML, TEXT)
    }
    assert "body_html" not in str(plain)


def test_graphql_has_the_html_too(pull: int, wire: Callable[[str], Wire], bot_token: str):
    query = """query($n: Int!) { repository(owner: "acme", name: "lib") { pullRequest(number: $n) {
      reviewThreads(first: 9) { nodes { comments(first: 9) { nodes { body bodyHTML } } } } } } }"""
    answer = wire(bot_token)("POST", "/api/graphql", {"query": query, "variables": {"n": pull}}).json
    found = answer["data"]["repository"]["pullRequest"]
    assert found["reviewThreads"]["nodes"][0]["comments"]["nodes"] == [{"body": SOURCE, "bodyHTML": HTML}]
