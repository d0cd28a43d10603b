"""What reads hostile text, with texts made of the pieces that mean something to it. `make test` tries a few, the same
ones each time; `make fuzz` tries others, as many as `EXAMPLES` says, here and in the properties of other files."""

import contextlib
import json
import os
import re
import tomllib

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.globs import matches
from bot.events.page_text import page_text
from bot.parsing.child import plain, yaml_texts
from bot.parsing.compose_yaml import compose
from bot.parsing.parser import ParseError, Parser
from bot.policy.registry_mirrors import authority
from bot.policy.shell import parse_shell
from bot.workspace.egress.tunnel import HelloError, record_length, server_name
from slash_forge.rendering import to_html
from tests.events.rendered import seen
from tests.policy.shell_rows import LOOKING, PLAIN, RUNNING

examples = settings(
    max_examples=int(os.environ.get("SLASH_AGENT_TEST_EXAMPLES", "15")),
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


_SHELL_ROWS = [*RUNNING, *LOOKING, *PLAIN]
# What opens or ends a block, a span of code or a tag; and elements that nobody sees, with a word in each.
_MARKDOWN = [
    "`", "``", "```", "```\n", "~~~\n", "  ```\n", "> ```\n", "- ```\n", "```html v\n", "\n", "\n\n", "- ",
    "1. ", "1) ", "10. ", "* ", "+ ", "> ", "  ", "   ", "    ", "\t", "\\", "_", "*", "$", "v", "[^1]: ",
    "[^1]", "[a]: b\n", "[a](", "](", "[", "]", "![", ")", ' "', '" ', "|", "-|-\n", "--|--\n", "# ",
    "---\n", "-\n", "==\n", "***\n", "- a\n", "- a\n\n  ", "http://a/", "www.a.b/", "&#8203;", "<div>\n",
    "</div>\n", "<pre>\n", "</pre>\n", "<script>\n", "</script>\n", "<b>\n", "<td>", "<x-y>\n", '<b a="',
    '">', "<b a='", "'>", "<a\n", ">", "<!-- ", " -->", "<!--\n", "-->\n", "<?", "?>", "<!X", "<http:",
    "<a@b", "<textarea>\n", *["<i hidden>WORD</i>"] * 9, *["\n<p hidden>WORD</p>\n"] * 3,
    *["<rp>WORD</rp>"] * 3,
]  # fmt: skip
_WORD = re.compile(r"w\d+w")
_CONNECT = [
    "CONNECT ", "pypi.org", "evil.example", ":443", ":", ".", "@", "\0", "%00", "[::1]", "127.0.0.1",
    "0x7f.1", "xn--", "é", "-", "/", "2130706433", " ",
]  # fmt: skip
_PARSERS = [json.loads, tomllib.loads, yaml_texts, compose]
_DATA = [
    "[", "]", "{", "}", "(", ")", ":", ",", "-", "?", "=", ".", "a.", "[[", "]]", '"', "'", '"""', "\\", "#",
    "//", "- ", "? ", ": ", "a: ", "a = ", "\n", "\n  ", "\t", "&a ", "*a", "<<: *a", "!!set ", "!!binary ",
    "!!float ", "|\n", "[a]\n", "[DEFAULT]\n", "k=%(k)s\n", "1e9", "0x", "1:1", "2026-01-02", "true", "null",
    "NaN", "9" * 99, "\ud800", "@nox.session\ndef f(s):\n", " s.run('a')\n", "lambda:", "not ",
    "x if x else ", "/*", "*/", "\ufeff", "---\n",
]  # fmt: skip


@examples
@given(st.data())
def test_shell_text(data: st.DataObject):
    """No text ends the process, and rows of the table put together stay what they are: opaque, or simple as named."""
    row = data.draw(st.sampled_from(_SHELL_ROWS))
    at = data.draw(st.integers(0, len(row)))
    parsed = parse_shell(row[:at] + data.draw(st.text(max_size=8)) + row[at:])
    for words in parsed.simple or ():
        assert words
        assert not set(words[0]) & set(";|&\n'\"$`(){}<>\\#=! \t[]*~")


@examples
@given(st.data())
def test_path_rules(data: st.DataObject):
    """A glob made from a path by putting wildcards into it matches that path."""
    names = data.draw(
        st.lists(st.text(st.sampled_from("abé.*?["), min_size=1, max_size=6), min_size=1, max_size=5)
    )
    path = "/".join(names)
    pieces = []
    for name in names:
        cut = data.draw(st.integers(0, len(name)))
        pieces.append(
            data.draw(st.sampled_from([name, "*", "**", name[:cut] + "*", "?" * len(name), f"{name}*"]))
        )
    assert matches("/".join(pieces), path)


@examples
@given(st.data())
def test_hidden_text(data: st.DataObject):
    """Of words in elements that nobody sees those alone are left that GitHub shows, since they stand in code there."""
    drawn = data.draw(st.lists(st.sampled_from(_MARKDOWN), max_size=16))
    text = "".join(piece.replace("WORD", f"w{at}w") for at, piece in enumerate(drawn))
    html = to_html(text)
    assert set(_WORD.findall(page_text(html).text)) <= set(_WORD.findall(seen(html)))


@examples
@given(st.data())
def test_proxy_requests(data: st.DataObject):
    """Whatever a client sends first, a host is a plain name with a port, or nothing."""
    target = "".join(data.draw(st.lists(st.sampled_from(_CONNECT) | st.text(max_size=3), max_size=6)))
    removals = authority(target)
    if removals is not None:
        assert f"{removals[0]}:{removals[1]}" in (target.lower(), target.lower().replace(".:", ":"))
    sent = data.draw(st.binary(max_size=80))
    with contextlib.suppress(HelloError):
        record_length(sent[:5])
    with contextlib.suppress(HelloError):
        assert server_name(sent)


@examples
@given(st.data())
def test_parser_child(data: st.DataObject):
    """No text of a repository's file raises anything but `ParseError`, and values are plain; whatever a text did to the
    child, the next one is parsed."""
    function = data.draw(st.sampled_from(_PARSERS))
    piece = st.sampled_from(_DATA) | st.text(max_size=4)
    pieces = st.tuples(piece, st.sampled_from([1, 1, 1, 2, 60, 3000])).map(lambda one: one[0] * one[1])
    text = "".join(data.draw(st.lists(pieces, max_size=12)))
    with Parser(60) as parser:
        with contextlib.suppress(ParseError):
            value = parser.parse(function, text)
            assert json.dumps(plain(value)) == json.dumps(value)
        assert parser.parse(json.loads, "[1]") == [1]
