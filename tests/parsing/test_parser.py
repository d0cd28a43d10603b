"""The child that parses a repository's files: what it returns, what ends it, and what follows for the other files."""

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.parsing import parser as module
from bot.parsing.child import yaml_texts
from bot.parsing.parser import ParseError, Parser
from tests.parsing.hostile_functions import answers_with, ends_itself, limits_and_surroundings

NESTED = "[" * 90_000


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(600) as started:
        yield started


@pytest.mark.parametrize(
    ("function", "text", "value"),
    [
        (tomllib.loads, "a = 2026-01-02\n[b]\nc = ['x', true]", {"a": "2026-01-02", "b": {"c": ["x", True]}}),
        (json.loads, '\ufeff{"a": [null, "\\ud800"]}', {"a": [None, "\ud800"]}),
        (yaml_texts, "on: 2026-01-02\n3: &a [1.5]\ny: *a", {"on": "2026-01-02", "3": ["1.5"], "y": ["1.5"]}),
        (yaml_texts, "a: false\nb: !!python/object/apply:os.system [id]", {"a": "false", "b": ["id"]}),
        (ast.literal_eval, "{'a': (1, None)}", {"a": [1, None]}),
    ],
)
def test_values_are_plain(parser: Parser, function, text: str, value):
    assert parser.parse(function, text) == value


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Iterator[Parser]:
    """One whose child imports these functions. For one test: what a text wrote there may be the answer to the next."""
    start = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); {module._START}"
    monkeypatch.setattr(module, "_START", start)
    for function in (limits_and_surroundings, ends_itself, answers_with):
        monkeypatch.setattr(function, "__module__", "hostile_functions")
    with Parser(600) as started:
        yield started


def test_the_child_has_limits_and_nothing_of_ours(own: Parser):
    environment, folder, isolated, limits = own.parse(limits_and_surroundings, "x")
    assert set(environment) <= {"LC_CTYPE"}
    assert (folder, isolated, limits) == ("/", 1, [512 << 20, 0, 0])


@pytest.mark.parametrize(
    ("name", "reason"), [("SIGSEGV", "crashes"), ("SIGXCPU", "too long"), ("SIGKILL", "too long")]
)
def test_a_child_that_dies_is_an_error_of_its_text_alone(own: Parser, name: str, reason: str):
    assert own.parse(json.loads, "1") == 1
    with pytest.raises(ParseError, match=reason):
        own.parse(ends_itself, name)
    assert own.parse(json.loads, "2") == 2


@pytest.mark.parametrize(
    "answer", ["", "nothing\n", "1\n", "[1]\n", "[1, 2, 3]\n", "[" * 100_000 + "\n", '[null, {"a": 1}]\n']
)
def test_an_answer_that_is_none_is_an_error(own: Parser, answer: str):
    if answer:
        with pytest.raises(ParseError):
            own.parse(answers_with, answer)
    else:
        assert own.parse(answers_with, answer) is None


def test_an_answer_of_any_size_is_not_kept(own: Parser, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_LARGEST_ANSWER", 10_000)
    with pytest.raises(ParseError):
        own.parse(answers_with, "x" * 20_000)
    assert own.parse(json.loads, "2") == 2


HOSTILE = {
    "nesting that crashes YAML": (yaml_texts, NESTED, "crashes|too long|memory"),
    "deeper than 50": (yaml_texts, "[" * 52 + "]" * 52, "nested over 50 levels"),
    "aliases": (
        yaml_texts,
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)),
        "over 200,000 values",
    ),
    "an alias of itself": (yaml_texts, "a: &a [*a]", "recursive|nested over 50 levels"),
    "two documents": (yaml_texts, "a: 1\n---\nb: 2", "single document"),
    "a place, without the parser's name of the text": (
        yaml_texts,
        "a:\n  - b\n c: [",
        "^[^<]*line 3, column 2[^<]*$",
    ),
    "nesting in JSON": (json.loads, NESTED, "nested too deeply"),
    "nesting in TOML": (tomllib.loads, "a = " + NESTED, "nested too deeply"),
    "nesting in Python": (ast.literal_eval, "-" * 100_000 + "1", "memory|crashes|nested"),
    "digits": (json.loads, "1" * 5000, "digits"),
    "too large": (json.loads, " " * (1 << 20) + "1", "over 1,048,576 characters"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_text_is_an_error(parser: Parser, kind: str):
    function, text, reason = HOSTILE[kind]
    with pytest.raises(ParseError, match=reason):
        parser.parse(function, text)
    assert parser.parse(json.loads, "[]") == []


@pytest.mark.slow
@pytest.mark.parametrize(("function", "text"), [(tomllib.loads, "a." * 90_000 + "a=1")], ids=["TOML"])
def test_a_text_that_takes_long_is_ended(parser: Parser, function, text: str):
    with pytest.raises(ParseError, match=r"too long|memory"):
        parser.parse(function, text)
    assert parser.parse(json.loads, "[]") == []


def test_nothing_is_read_when_the_time_of_all_is_over():
    with (
        Parser(0) as late,
        pytest.raises(ParseError, match="not read, since the files before it took over 0 s"),
    ):
        late.parse(json.loads, "1")


def test_without_a_text_no_child_is_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_start", None)
    with Parser():
        pass
