"""Seeded variation: the same call of the same run in the same words, errors and figures never in others (S-165)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

from bot.agent import findings, handover, todo, writes
from bot.agent.findings import AnchoredFinding, ReportFinding
from bot.agent.handover import AskUser, DescribeChange, SubmitPlan
from bot.agent.todo import Todo
from bot.agent.toolbox import Permission, Toolbox
from bot.agent.writes import ProposeWrite
from bot.contracts.cancel import CancelToken
from bot.contracts.messages import ToolCall
from bot.contracts.tools import ToolOutcome, Variation, varied_outcome
from bot.skills import tool as skills
from bot.toolhost.tools import bash_kill, edit, patch, write
from tests.skills.corpus import skill
from tests.skills.test_tool import Bench as SkillBench
from tests.support.workspaces import Bench, make_tree

TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "bash_kill": bash_kill._ENDED,
    "edit": edit._EDITED,
    "edit, a new file": edit.CREATED,
    "edit, an empty file": edit._FILLED,
    "patch, one file": patch._PATCHED,
    "patch, several": patch._PATCHED_ALL,
    "write": write._WROTE,
    "ask_user": handover._END_TEXTS,
    "ask_user, answered": handover._ANSWER_TEXTS,
    "describe_change and submit_plan": handover.NOTED,
    "propose_write": writes._ACCEPTED,
    "report_finding": findings._ACCEPTED,
    "skill": skills._LOADED,
    "todo": todo._DONE,
}

WORDS = varied_outcome(["one 1", "two 1", "three 1"], {})


def chosen(seed: str) -> list[str]:
    return [Variation(seed).vary(WORDS, {"path": f"{number}.py"}).content for number in range(40)]


def test_the_choice_hangs_on_run_and_arguments_alone_and_uses_all() -> None:
    assert chosen("s1") == chosen("s1") != chosen("s2")
    assert set(chosen("s1")) == {WORDS.content, *WORDS.others}
    # The words themselves are fixed: a journal of another day, machine or hash seed is worded the same.
    assert chosen("s1")[:4] == ["three 1", "one 1", "one 1", "two 1"]


def test_without_a_seed_nothing_varies() -> None:
    assert set(chosen("")) == {"one 1"}


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_phrasings_of_a_template_say_the_same_and_are_no_longer(name: str) -> None:
    phrasings = TEMPLATES[name]
    assert 2 <= len(set(phrasings)) == len(phrasings) <= 4
    fields = [
        [field for _, field, _, _ in Formatter().parse(text) if field is not None] for text in phrasings
    ]
    assert all(one == fields[0] for one in fields)
    assert sum(map(len, phrasings)) <= len(phrasings) * len(phrasings[0])


def _finding(made: Any, cancel: CancelToken) -> AnchoredFinding:
    return AnchoredFinding(replace(made, fingerprint="f"), "It holds.")


STEP = {"text": "Do it", "paths": ["a/b.py"]}
FINDING = {"kind": "crash", "path": "a/b.py", "line": 31, "severity": "major", "title": "T", "body": "B"}
ITEMS = {"items": [{"text": "Read a/b.py", "status": "completed"}, {"text": "Mend", "status": "pending"}]}
OWN: Mapping[str, tuple[Any, Mapping[str, Any], tuple[str, ...]]] = {
    "ask_user": (AskUser(), {"question": "31?"}, ()),
    "ask_user, answered": (AskUser(lambda question: "a/b.py"), {"question": "31?"}, ("a/b.py",)),
    "describe_change": (DescribeChange(), {"title": "T", "summary": "S"}, ()),
    "submit_plan": (SubmitPlan(), {"title": "T", "steps": [STEP]}, ()),
    "propose_write": (
        ProposeWrite(lambda write, before: ""), {"kind": "comment", "number": 31, "body": "B"}, ("#31",)
    ),
    "report_finding": (ReportFinding(_finding), FINDING, ("a/b.py line 31", "It holds.")),
    "todo": (Todo(), ITEMS, ("1. [x] Read a/b.py\n2. [ ] Mend\n", "1", "2")),
}  # fmt: skip


@pytest.mark.parametrize("name", OWN)
def test_what_a_result_is_about_is_in_every_wording_of_it(name: str) -> None:
    tool, arguments, kept = OWN[name]
    outcome = tool(arguments, CancelToken())
    assert outcome.others
    for said in (outcome.content, *outcome.others):
        assert all(part in said for part in kept)


def test_a_skill_that_is_loaded_is_named_in_every_wording(tmp_path: Path) -> None:
    outcome = SkillBench(tmp_path, {"a/SKILL.md": skill("name: a\ndescription: A.\n", "Do it.\n")}).call("a")
    assert [said.count(" a") for said in (outcome.content, *outcome.others)] == [1, 1, 1]


def test_a_toolbox_words_what_its_tools_say_by_the_run_and_errors_plainly() -> None:
    def say(seed: str, arguments: str) -> str:
        tool = DescribeChange()
        box = Toolbox([tool.spec], {tool.spec.name: tool}, lambda *_: Permission(True), Variation(seed))
        return box.execute(ToolCall("a", tool.spec.name, arguments), CancelToken()).result.content

    good = [f'{{"title": "T{number}", "summary": "S"}}' for number in range(20)]
    assert {say("s1", one) for one in good} == set(handover.NOTED)
    assert {say("", one) for one in good} == {handover.NOTED[0]}
    assert len({say("s1", f'{{"title": "{" " * number}", "summary": "S"}}') for number in range(20)}) == 1


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path, make_tree(tmp_path / "tree", {"a.txt": "one\ntwo\n"}))
    yield bench
    bench.close()


CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("view", {"path": "a.txt"}),
    ("edit", {"path": "a.txt", "old": "one", "new": "31"}),
    ("edit", {"path": "b.txt", "old": "", "new": "31\n"}),
    ("write", {"path": "c.txt", "content": ""}),
    ("edit", {"path": "c.txt", "old": "", "new": "31\n"}),
    ("write", {"path": "c.txt", "content": "32\n"}),
    ("patch", {"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End Patch"}),
    ("patch", {"patch": "*** Begin Patch\n*** Add File: d.txt\n+d\n*** Add File: e.txt\n+e\n*** End Patch"}),
    ("bash", {"command": "sleep 60", "background": True}),
    ("bash_kill", {}),
    ("write", {"path": "c.txt", "content": "32\n"}),
    ("edit", {"path": "a.txt", "old": "nowhere", "new": "x"}),
)
VARIES = {1, 2, 3, 4, 5, 6, 7, 9}


def _said(bench: Bench, seed: str) -> list[ToolOutcome]:
    workspace = bench.start(variation=Variation(seed))
    said = [workspace.call(tool, arguments, CancelToken()) for tool, arguments in CALLS]
    workspace.call("bash", {"command": "git checkout -q . && git clean -fdq"}, CancelToken())
    workspace.close()
    return said


@pytest.mark.slow
def test_the_tool_host_words_what_its_tools_did_and_one_started_again_does_the_same(bench: Bench) -> None:
    plain = [outcome.content for outcome in _said(bench, "")]
    runs = {seed: [outcome.content for outcome in _said(bench, seed)] for seed in ("s1", "tuesday")}
    assert [outcome.content for outcome in _said(bench, "s1")][:8] == runs["s1"][:8]
    for number, (tool, arguments) in enumerate(CALLS):
        if tool == "bash":
            continue  # it names its spill file
        words = {said[number] for said in runs.values()} | {plain[number]}
        assert (len(words) > 1) is (number in VARIES), (tool, arguments, words)
    assert all("(+1 -1)" in said[1] and "a.txt" in said[1] and "1|31" in said[1] for said in runs.values())
