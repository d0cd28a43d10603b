"""What reads hostile text, with texts made of the pieces that mean something to it. `make test` tries a few, the same
ones each time; `make fuzz` tries others, as many as `EXAMPLES` says."""

import contextlib
import json
import os
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.contracts.errors import UsageError
from bot.contracts.globs import matches
from bot.events.event_request import NoRequestError
from bot.events.page_text import page_text
from bot.events.read_event import read_event
from bot.events.sanitize import clean
from bot.gate.redact import Redactor
from bot.parsing.child import plain, yaml_texts
from bot.parsing.compose_yaml import compose
from bot.parsing.parser import ParseError, Parser
from bot.policy.egress import authority
from bot.policy.load import load_policy
from bot.policy.problems import PolicyError
from bot.policy.shell import parse_shell
from bot.toolhost.patch.grammar import PatchError, parse
from bot.workspace.egress.tunnel import HelloError, record_length, server_name
from slash_forge.rendering import to_html
from tests.events.rendered import seen
from tests.policy.shell_rows import LOOKING, PLAIN, RUNNING
from tests.policy.test_shell_truth import PIECES, hold

examples = settings(
    max_examples=int(os.environ.get("SLASH_AGENT_TEST_EXAMPLES", "15")),
    suppress_health_check=[
        *settings().suppress_health_check,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
    ],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz")


_SHELL_ROWS = [*RUNNING, *LOOKING, *PLAIN]
_HTML = [
    "<!--", "-->", "<!", "--", ">", "<", "&#60;", "&lt;", "&", ";", "<b hidden>", "</b>", "![", "](", "```",
    "\u200b", "\u200d", "\ufe0f", "\U000e0041", "\u202e", "a", "\n",
]  # fmt: skip
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
_PATCH = [
    "*** Begin Patch\n", "*** End Patch\n", "*** Add File: a\n", "*** Update File: b\n",
    "*** Delete File: c\n", "*** Move to: d\n", "*** End of File\n", "@@", "@@ def f():\n", "+x\n", "-y\n",
    " z\n", "\n", "\r\n", "é", "```\n", "<<'EOF'\n", "EOF\n",
]  # fmt: skip
_CONNECT = [
    "CONNECT ", "pypi.org", "evil.example", ":443", ":", ".", "@", "\0", "%00", "[::1]", "127.0.0.1",
    "0x7f.1", "xn--", "é", "-", "/", "2130706433", " ",
]  # fmt: skip
_EVENTS = [
    "issue_comment", "pull_request_review_comment", "pull_request_review", "issues", "pull_request_target",
    "workflow_dispatch", "schedule", "workflow_run",
]  # fmt: skip
_FIELDS = [
    "action", "comment", "issue", "pull_request", "repository", "sender", "id", "login", "body", "number",
    "user", "full_name", "head", "sha", "inputs",
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
def test_shell_grammar(folder: Path, data: st.DataObject) -> None:
    """What is proven simple runs just its words, in real bash."""
    hold(data.draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=20)), folder)


@examples
@given(st.data())
def test_shell_text(data: st.DataObject) -> None:
    """No text ends the process, and rows of the table put together stay what they are: opaque, or simple as named."""
    row = data.draw(st.sampled_from(_SHELL_ROWS))
    at = data.draw(st.integers(0, len(row)))
    parsed = parse_shell(row[:at] + data.draw(st.text(max_size=8)) + row[at:])
    for words in parsed.simple or ():
        assert words
        assert not set(words[0]) & set(";|&\n'\"$`(){}<>\\#=! \t[]*~")


@examples
@given(st.data())
def test_policy_file(data: st.DataObject) -> None:
    """No text makes the loader raise anything else."""
    with contextlib.suppress(PolicyError):
        load_policy(data.draw(st.text(max_size=100)))


@examples
@given(st.data())
def test_path_rules(data: st.DataObject) -> None:
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
def test_sanitiser(data: st.DataObject) -> None:
    """What was cleaned is clean: doing it again changes nothing."""
    piece = st.sampled_from(_HTML) | st.text(max_size=3)
    once = clean("".join(data.draw(st.lists(piece, max_size=40)))).text
    assert clean(once).text == once


@examples
@given(st.data())
def test_hidden_text(data: st.DataObject) -> None:
    """Of words in elements that nobody sees those alone are left that GitHub shows, since they stand in code there."""
    drawn = data.draw(st.lists(st.sampled_from(_MARKDOWN), max_size=16))
    text = "".join(piece.replace("WORD", f"w{at}w") for at, piece in enumerate(drawn))
    html = to_html(text)
    assert set(_WORD.findall(page_text(html).text)) <= set(_WORD.findall(seen(html)))


@examples
@given(st.data())
def test_redactor(data: st.DataObject) -> None:
    """The value is not in what comes out."""
    value = data.draw(st.text(st.sampled_from("aAbB01-_+/="), min_size=16, max_size=48))
    known = Redactor({"KEY": value})
    piece = st.sampled_from([value, value[:9], value[3:], value.lower(), " ", "\n", "x"]) | st.text(
        max_size=4
    )
    text = "".join(data.draw(st.lists(piece, max_size=12))).encode("utf-8", "surrogatepass")
    assert value.encode() not in known.mask(text)


@examples
@given(st.data())
def test_patch_parser(data: st.DataObject) -> None:
    """A patch is read, or all that is wrong with it is said."""
    piece = st.sampled_from(_PATCH) | st.text(max_size=4)
    with contextlib.suppress(PatchError):
        assert parse("".join(data.draw(st.lists(piece, max_size=20))))


@examples
@given(st.data())
def test_event_parser(folder: Path, data: st.DataObject) -> None:
    """A payload is read, or one sentence says which field is not as it must be."""
    leaf = st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just("/agent fix this")
    key = st.sampled_from(_FIELDS)
    value = st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(key, inner, max_size=5),
        max_leaves=12,
    )
    file = folder / "event.json"
    file.write_text(json.dumps(data.draw(st.dictionaries(key, value, max_size=6) | value)))
    with contextlib.suppress(UsageError, NoRequestError):
        read_event(data.draw(st.sampled_from(_EVENTS)), file)


@examples
@given(st.data())
def test_proxy_requests(data: st.DataObject) -> None:
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
def test_parser_child(data: st.DataObject) -> None:
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
