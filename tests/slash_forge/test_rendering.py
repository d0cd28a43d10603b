"""The HTML of texts: GitHub's renderer, its published allow-list, and each answer of the API that has a text."""

import builtins
from collections.abc import Callable
from typing import Any

import pytest

from slash_forge import Forge
from slash_forge.rendering import to_html, to_text
from tests.slash_forge.conftest import REPO, Wire

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
