"""The pages people open: right, and safe whatever is written into them."""

import re
import string
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from github.Repository import Repository
from hypothesis import given
from hypothesis import strategies as st

from slash_forge import Forge
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
