"""A-99 and A-103 to A-105: YAML of a policy, a task file or a SKILL.md that attacks its reader."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.github.values import RepositoryData
from bot.maintenance.task import read_task
from bot.parsing.parser import Parser
from bot.parsing.yaml_document import YamlError, read_yaml
from bot.policy.load import load_policy
from bot.policy.policy_error import PolicyError
from bot.session.event.maintain import _tasks
from bot.skills.rules import check_document
from bot.skills.skill import Skill

BOMBS = {
    "lists": "a: " + "[" * 30_000,
    "keys": "? " * 15_000 + "x",
    "mappings": "a: {" * 10_000,
    "aliases that multiply": "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
    + "".join(f"a{n + 1}: &a{n + 1} [{','.join([f'*a{n}'] * 9)}]\n" for n in range(9)),
    "aliases that nest": "a0: &a0 [x]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}]\n" for n in range(1_500)),
    "merge keys": "a0: &a0 {k: 1}\n"
    + "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(40)),
    "an anchor in itself": "a: &a {b: [*a]}",
    "more values than anybody writes": "a: [" + "," * 25_000 + "]",
    "over 64 kB": "a: b # " + "x" * 70_000,
    "two documents": "a: b\n---\nc: d",
    "a control character": "a: \x01",
    "half a surrogate pair": "a: \ud800",
}


def _policy(text: str, parser: Parser) -> object:
    return load_policy(text, "agent.yml", parser)


def _task(text: str, parser: Parser) -> object:
    return read_task(f"---\n{text}\n---\nDo it.", "links.md", parser)


def _skill(text: str, parser: Parser) -> object:
    data = f"---\n{text}\n---\nDo it.".encode("utf-8", "surrogatepass")
    checked = check_document(Skill("", "", "repository", "a"), data, parser)
    if checked.findings:
        raise PolicyError("a", ())
    return checked


GOOD = {_policy: "version: 1", _task: "schedule: daily", _skill: "name: 'a'\ndescription: b"}


LINES = {"lists": "1", "aliases that nest": "1", "two documents": "2"}
TAKE_LONG = {"lists", "mappings"}


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(600) as started:
        yield started


@pytest.mark.parametrize("kind", BOMBS)
def test_a99_a_bomb_is_an_error_with_its_line_and_the_next_file_is_read(kind: str, parser: Parser):
    line = LINES.get(kind, r"\d+")
    with pytest.raises(PolicyError, match=rf"^agent\.yml:{line}:\d+: "):
        _policy(BOMBS[kind], parser)
    assert _policy(GOOD[_policy], parser)


@pytest.mark.parametrize("read", [_task, _skill])
@pytest.mark.parametrize("kind", [kind for kind in BOMBS if kind not in TAKE_LONG])
def test_a99_nor_is_one_of_a_task_or_a_skill_the_end(
    kind: str, read: Callable[[str, Parser], object], parser: Parser
):
    with pytest.raises(PolicyError):
        read(BOMBS[kind], parser)
    assert read(GOOD[read], parser)


PLACE = [[], 1, 1, "`x`"]
ANSWERS: dict[str, Any] = {
    "nothing": None,
    "text": "places",
    "no places": {"value": "x", "problems": []},
    "no value": {"places": [PLACE], "problems": []},
    "a place that is too short": {"value": "x", "places": [[[]]], "problems": []},
    "a path that is none": {"value": "x", "places": [[1, *PLACE[1:]]], "problems": []},
    "a path that is no key": {"value": "x", "places": [[[{}], *PLACE[1:]]], "problems": []},
    "a line that is none": {"value": "x", "places": [[[], "x", 1, ""]], "problems": []},
    "a problem that is none": {"value": "x", "places": [PLACE], "problems": [["x"]]},
    "an error that is none": {"error": ["x"]},
}


@pytest.mark.parametrize("kind", ANSWERS)
def test_a103_the_answer_of_a_child_that_a_text_took_over_is_checked(
    kind: str, monkeypatch: pytest.MonkeyPatch
):
    with Parser() as parser:
        monkeypatch.setattr(parser, "parse", lambda function, text: ANSWERS[kind])
        with pytest.raises(YamlError, match="its parser answered with no document"):
            read_yaml("a: b", parser)


def test_a104_no_process_with_secrets_parses_yaml():
    code = (
        "import sys; from bot.policy.load import load_policy; from bot.maintenance.task import read_task;"
        "from bot.skills.rules import read_fields;"
        "assert load_policy('on_deny: stop').on_deny == 'stop';"
        "assert read_task('---\\npaths: [a]\\n---\\nDo it.', 'a.md').paths == ('a',);"
        "assert read_fields(b'---\\nname: \"a\"\\n---\\n')['name'].value == 'a';"
        "print([name for name in sys.modules if name.split('.')[0] in ('yaml', '_yaml')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Host:
    """A repository's folder of tasks."""

    repository = RepositoryData("o/r", "main", private=False, clone_url="")

    def folder(self, path: str, ref: str) -> list[str]:
        return ["a.md", "bomb.md", "c.md"]

    def file(self, path: str, ref: str) -> str:
        front = BOMBS["aliases that multiply"] if "bomb" in path else "schedule: daily"
        return f"---\n{front}\n---\nDo it."


def test_a105_a_hostile_task_file_is_named_and_the_others_are_due():
    with Parser() as parser:
        tasks, broken = _tasks(Host(), parser, ())
    assert list(tasks) == ["a", "c"]
    assert "bomb.md:" in str(broken["bomb"])
    assert len(broken) == 1
