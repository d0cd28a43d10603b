"""`task`: fresh history, one purse, only the last text back (S-114..S-121)."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bot.agent.conversation_context import ConversationContext, LoopEnd
from bot.agent.journal import Journal, JournalFile, read_journal
from bot.agent.limits import SessionUsage
from bot.agent.loop import run_loop
from bot.agent.toolbox import Handler, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import AgentStarted, BudgetChanged, Result
from bot.contracts.messages import ToolCall, ToolResult, Usage
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolOutcome
from bot.session.tools.subagents import MAX_REPORT, TURNS, Subagents
from bot.session.tools.toolbox import CallTracker
from bot.session.workspaces.start_workspaces import CallPosition
from tests.support.scripted import ScriptedProvider, Turn, call, says
from tests.support.sessions import header, results_of, spec

Script = Callable[[str], Sequence[Turn]]


class Closing(ScriptedProvider):
    closed = False

    def close(self) -> None:
        self.closed = True


class Prepared(Subagents):
    """Subagents with the conversations that `prepared` makes."""

    prepared: Callable[[str, CancelToken], ConversationContext]

    def prepare(self, name: str, cancel: CancelToken) -> ConversationContext:
        return self.prepared(name, cancel)


@dataclass
class Team:
    """A run whose model plays `script` and whose subagents play `scripts(name)`."""

    folder: Path
    script: Sequence[Turn]
    scripts: Script
    limits: RunLimits = field(default_factory=RunLimits)
    archive: Callable[[str], str] = lambda text: ""
    turns: int = TURNS
    models: dict[str, Closing] = field(default_factory=dict)
    cancel: CancelToken = field(default_factory=CancelToken)

    def run(self) -> LoopEnd:
        with Journal(self.folder / "journal.jsonl", str) as journal:
            calls, unused = CallTracker(), cast(Any, None)
            calls.position = CallPosition(1, "c1")
            run: Any = SimpleNamespace(archive=self.archive)
            agents = Prepared(run, unused, unused, calls)
            agents.prepared = self._prepare
            toolbox = Toolbox([agents.spec], {"task": agents}, _permit)
            journal.write(header(tools=toolbox.specs))
            self.model = ScriptedProvider(self.script)
            self.context = ConversationContext(
                self.model, "The run.", toolbox, journal, self.limits, self.cancel,
                shared_usage=SessionUsage(),
            )  # fmt: skip
            self.open = journal
            return run_loop(self.context, "the task")

    def _prepare(self, name: str, cancel: CancelToken) -> ConversationContext:
        self.models[name] = Closing(self.scripts(name))
        specs = [spec("echo", {"text": {"type": "string"}})]
        handlers: dict[str, Handler] = {"echo": lambda values, cancel: ToolOutcome(values.get("text", ""))}
        return self.context._replace(
            provider=self.models[name], system="You explore.", journal=self.open, cancel=cancel,
            toolbox=Toolbox(specs, handlers, _permit), own_turn_limit=self.turns, agent=name,
        )  # fmt: skip

    def journal(self) -> JournalFile:
        return read_journal(self.folder / "journal.jsonl")

    def results(self) -> list[ToolResult]:
        return [part for message in self.model.requests[-1] for part in results_of(message)]


def _permit(tool: str, arguments: Any) -> Permission:
    return Permission(True)


def task(prompt: str = "Find it.", call_id: str = "c1") -> ToolCall:
    return call("task", json.dumps({"prompt": prompt}), call_id)


def test_a_subagent_sees_its_prompt_alone_and_only_its_last_text_comes_back(tmp_path: Path):
    look = says("Looking.", call("echo", '{"text": "in here"}', "x"))
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: [look, says("It is in a.py:3.")])
    end = team.run()
    [model] = team.models.values()
    assert [message.text for message in model.requests[0]] == ["Find it."]
    [result] = team.results()
    assert result.content.startswith("It is in a.py:3.\n\n(explore-1: 2 turns, ")
    assert "Looking." not in result.content
    assert end.stop is StopReason.END_TURN
    assert model.closed


def test_all_spend_from_one_purse(tmp_path: Path):
    dear = says("Found.", usage=Usage(2_000_000))
    team = Team(
        tmp_path,
        [says(task(), usage=Usage(1_000_000)), says("Done.")],
        lambda name: [dear],
        RunLimits(cost_usd=2.5),
    )
    end = team.run()
    assert end.stop is StopReason.BUDGET
    assert end.usage == Usage(3_000_000)
    assert end.cost == pytest.approx(3.0)
    assert [line.cost for line in team.journal().records(BudgetChanged)] == pytest.approx([1.0])
    [result] = list(team.journal().records(Result))
    assert (result.metadata["tokens"], result.metadata["turns"]) == (2_000_000, 1)


def test_turns_of_subagents_count_towards_the_runs_limit(tmp_path: Path):
    looks = [says(call("echo", f'{{"text": "{n}"}}', f"x{n}")) for n in range(20)]
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: looks, RunLimits(turns=5))
    end = team.run()
    assert end.stop is StopReason.TURNS
    [model] = team.models.values()
    assert len(model.requests) == 4


def test_a_subagent_has_a_limit_of_its_own_and_says_that_it_did_not_end(tmp_path: Path):
    looks = [says(f"Step {n}.", call("echo", f'{{"text": "{n}"}}', f"x{n}")) for n in range(9)]
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: looks, turns=2)
    assert team.run().stop is StopReason.END_TURN
    [result] = team.results()
    assert result.is_error
    assert result.content.startswith("It did not finish: The limit of 2 turns is reached.\nStep 1.")


def test_a_failing_subagent_is_an_error_result_and_the_run_goes_on(tmp_path: Path):
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: [Failed("the server is down", 503)])
    assert team.run().stop is StopReason.END_TURN
    [result] = team.results()
    assert result.is_error
    assert "the server is down" in result.content
    assert "(It ended without an answer.)\n\n(explore-1: 1 turn, " in result.content


def test_a_cancel_reaches_the_subagent_and_every_call_is_answered(tmp_path: Path):
    team = Team(tmp_path, [says(task(call_id="a"), task(call_id="b")), says("Done.")], lambda name: [stop])

    def stop(cancel: CancelToken) -> Complete | Failed:
        team.cancel.fire("signal")
        return Failed("canceled", canceled=True)

    assert team.run().stop is StopReason.CANCELED
    answered = [line.call_id for line in team.journal().records(Result)]
    assert answered == ["a", "b"]


def test_the_lines_of_a_subagent_carry_its_name_and_are_no_lines_of_the_run(tmp_path: Path):
    look = says(call("echo", '{"text": "in here"}', "x"))
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: [look, says("There.")])
    team.run()
    file = team.journal()
    assert [line.name for line in file.records(Result)] == ["task"]
    own = file.of("explore-1")
    assert [line.name for line in own.records(Result)] == ["echo"]
    [started] = own.records(AgentStarted)
    assert (started.turn, started.call_id) == (1, "c1")
    assert len(file.everything) == len(file.lines) + len(own.lines)


def test_a_long_report_is_cut_and_kept_whole_elsewhere(tmp_path: Path):
    kept: list[str] = []

    def archive(text: str) -> str:
        kept.append(text)
        return "/run/archive/1.txt"

    report = "r" * (MAX_REPORT + 1)
    team = Team(tmp_path, [says(task()), says("Done.")], lambda name: [says(report)], archive=archive)
    team.run()
    assert kept == [report]
    assert "the whole report: /run/archive/1.txt" in team.results()[0].content
    assert len(team.results()[0].content) < MAX_REPORT + 300
