"""The loop: order, endings, limits; each path leaves every call answered once (invariants 1 and 4). Two sessions in one
process share nothing: run side by side, each is as it is alone."""

import itertools
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bot.agent.conversation_context import Hooks, LoopEnd, TurnInfo
from bot.agent.journal import read_journal
from bot.agent.limits import Stop
from bot.agent.repetition import REPEAT_NOTICE
from bot.agent.todo_list import Todo
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import BudgetChanged, Response, ResponseFailed, Result, SessionEnded, UserText
from bot.contracts.messages import FinishReason, Message, Text, Thinking, ToolCall, Usage
from bot.contracts.model import Complete, Failed
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolOutcome
from tests.support.scripted import call, says
from tests.support.sessions import Bench, results_of


def answered(bench: Bench) -> None:
    """Every call of every response has exactly one result, in the order of the calls."""
    file = bench.journal()
    calls = [
        (line.record.turn, part.id)
        for line in file.lines
        if isinstance(line.record, Response | ResponseFailed)
        for part in line.record.parts
        if isinstance(part, ToolCall)
    ]
    assert calls == [(item.turn, item.call_id) for item in file.records(Result)]
    for request in bench.provider.requests:
        for message, following in itertools.pairwise(request):
            if message.calls:
                assert [item.id for item in message.calls] == [r.call_id for r in results_of(following)]


def played(script: Sequence[Any], folder: Path, **more: Any) -> tuple[Bench, LoopEnd]:
    """A session with that script: whatever happens, every call is answered once."""
    bench = Bench(script, folder, **more)
    end = bench.run("please")
    answered(bench)
    return bench, end


def echo(text: str, call_id: str) -> ToolCall:
    return call("echo", f'{{"text": "{text}"}}', call_id)


def test_calls_run_in_order_and_their_results_go_back_in_one_message(tmp_path: Path):
    bench, end = played([says("Look.", echo("one", "a"), echo("two", "b")), says("Done.")], tmp_path)
    assert [arguments["text"] for _, arguments in bench.ran] == ["one", "two"]
    assert [message.role for message in bench.provider.requests[1]] == ["user", "assistant", "tool"]
    assert [(item.call_id, item.content) for item in bench.results()] == [("a", "one"), ("b", "two")]
    assert (end.stop, end.turns, end.final_text) == (StopReason.END_TURN, 2, "Done.")


def test_a_call_that_was_cut_off_is_answered_and_never_run(tmp_path: Path):
    cut = call("echo", '{"text": "ha', "b", complete=False)
    bench, end = played(
        [says(echo("one", "a"), cut, finish=FinishReason.MAX_TOKENS), says("Done.")], tmp_path
    )
    assert [arguments["text"] for _, arguments in bench.ran] == ["one"]
    assert bench.results()[1].is_error
    assert "smaller pieces" in bench.results()[1].content
    assert end.stop is StopReason.END_TURN


def test_answers_cut_off_again_and_again_end_the_run(tmp_path: Path):
    cuts = [
        says(call("echo", f'{{"text": "{n}', f"c{n}", complete=False), finish=FinishReason.MAX_TOKENS)
        for n in range(5)
    ]
    _bench, end = played(cuts, tmp_path)
    assert (end.stop, end.turns) == (StopReason.MAX_TOKENS, 3)


@pytest.mark.parametrize(
    ("response", "stop", "said"),
    [
        (says("All I", finish=FinishReason.MAX_TOKENS), StopReason.MAX_TOKENS, "output limit"),
        (says("No.", finish=FinishReason.ERROR, raw="refusal"), StopReason.PROVIDER_ERROR, '"refusal"'),
        (Failed("The API answered 401.", 401), StopReason.PROVIDER_ERROR, "401"),
    ],
)
def test_each_ending_has_its_stop_reason_and_a_sentence(
    tmp_path: Path, response: Complete | Failed, stop: StopReason, said: str
):
    bench, end = played([response], tmp_path)
    assert end.stop is stop
    assert said in end.reason
    ended = next(bench.journal().records(SessionEnded))
    assert (ended.stop_reason, ended.reason) == (stop.value, end.reason)


def test_calls_of_a_response_that_ends_the_run_are_answered_unrun(tmp_path: Path):
    bench, _ = played([says(echo("x", "a"), echo("y", "b"), finish=FinishReason.ERROR)], tmp_path)
    assert bench.ran == []


def test_a_broken_stream_keeps_what_had_arrived(tmp_path: Path):
    partial = Message("assistant", (Text("I think that"), call("echo", '{"te', "a", complete=False)))
    bench, end = played([Failed("The stream broke.", partial=partial, usage=Usage(7))], tmp_path)
    assert (end.stop, end.final_text) == (StopReason.PROVIDER_ERROR, "I think that")
    assert end.usage.input == 7
    assert end.usage.output > 0, "what was written of it counts, although nobody reported it"
    assert next(bench.journal().records(ResponseFailed)).parts == partial.parts


def test_a_provider_that_raises_ends_the_run_with_what_it_has(tmp_path: Path):
    def breaks(cancel: CancelToken) -> Complete:
        raise KeyError("delta")

    end = Bench([says(echo("x", "a")), breaks], tmp_path).run()
    assert end.stop is StopReason.PROVIDER_ERROR
    assert "KeyError" in end.reason


@pytest.mark.parametrize(
    "silence", [says(), says("  \n"), says(Thinking("hm")), says(finish=FinishReason.TOOL_USE)]
)
def test_a_model_that_says_nothing_is_told_once_and_then_stopped(tmp_path: Path, silence: Complete):
    bench, end = played([silence, silence, says("too late")], tmp_path)
    assert (end.stop, end.turns) == (StopReason.PROVIDER_ERROR, 2)
    assert "neither text nor a tool call" in end.reason
    assert "held neither text nor a tool call" in bench.provider.requests[1][-1].text


@pytest.mark.parametrize(
    ("limits", "stop", "said"),
    [
        (RunLimits(turns=2), StopReason.TURNS, "2 turns"),
        (RunLimits(tokens=30), StopReason.BUDGET, "30 tokens"),
        (RunLimits(cost_usd=0.00005), StopReason.BUDGET, "under $0.01 is spent"),
        (RunLimits(minutes=2), StopReason.TIME, "2 minutes"),
    ],
)
def test_a_limit_ends_the_run_before_the_next_request(
    tmp_path: Path, limits: RunLimits, stop: StopReason, said: str
):
    seconds = itertools.count(step=20.0)
    script = [says(echo(str(n), f"c{n}")) for n in range(9)]
    bench, end = played(script, tmp_path, limits=limits, clock=lambda: next(seconds))
    assert end.stop is stop
    assert stop is StopReason.TIME or (end.turns, len(bench.ran)) == (2, 2)
    assert said in end.reason


@pytest.mark.parametrize(
    ("limits", "said", "most"),
    [(RunLimits(commands=3), "3 commands", 3), (RunLimits(output=2 << 20), "2 MiB of output", 2)],
)
def test_a_limit_on_commands_holds_within_one_turn(tmp_path: Path, limits: RunLimits, said: str, most: int):
    """One answer may hold any number of calls."""
    ran = ToolOutcome("ok", metadata={"command": "true", "exit_code": 0, "bytes": 1 << 20})
    script = [says(*(call("bash", call_id=f"c{n}") for n in range(20)))]
    bench, end = played(script, tmp_path, tools={"bash": lambda arguments, cancel: ran}, limits=limits)
    assert (end.stop, len(bench.ran)) == (StopReason.BUDGET, most)
    assert said in end.reason
    results = list(bench.journal().records(Result))
    assert len(results) == 20
    assert results[-1].content == f"Not run: {end.reason}"


def removals(count: int) -> list[Complete]:
    return [says(call("rm", f'{{"n": {n}}}', f"c{n}")) for n in range(count)]


OK = says(echo("x", "ok"))
THREE = says(echo("x", "a"), call("rm", call_id="b"), echo("y", "c"))
PERSON_NO, PERSON_WORDS, INSIDE = (
    {"denied": True, **({"person": person} if person else {})} for person in ("no", "words", "")
)
DENIALS: dict[str, tuple[list[Complete], dict[str, Any] | None, bool, StopReason, int]] = {
    "the policy stops the run": ([THREE], None, True, StopReason.DENIED, 1),
    "five in a row": (removals(9), None, False, StopReason.DENIED, 5),
    "a call between them": ([*removals(4), OK, *removals(4), says("Done.")], None, False, StopReason.END_TURN, 10),
    "inside the tool host": ([THREE], INSIDE, True, StopReason.DENIED, 1),
    "by a person": ([THREE], PERSON_NO, False, StopReason.DENIED, 1),
    "a person's words, however often": ([*removals(7), says("Done.")], PERSON_WORDS, True, StopReason.END_TURN, 8),
}  # fmt: skip


@pytest.mark.parametrize("name", DENIALS)
def test_denials_end_the_run_and_the_calls_after_the_last_are_answered_without_running(
    tmp_path: Path, name: str
):
    """By the policy before the call, or by the result of it, for which a person may have been asked."""
    script, metadata, stops, stop, turns = DENIALS[name]
    tools = {"rm": lambda arguments, cancel: ToolOutcome("denied", True, metadata or {})}
    deny = frozenset({"rm"} if metadata is None else ())
    bench, end = played(script, tmp_path, tools=tools, deny=deny, stop_on_denial=stops)
    assert (end.stop, end.turns) == (stop, turns)
    assert [arguments.get("text") for _, arguments in bench.ran if "text" in arguments] in ([], ["x"])


def test_the_same_call_with_the_same_result_is_told_at_the_third_and_stopped_at_the_fourth(tmp_path: Path):
    bench, end = played([says(echo("x", f"c{n}")) for n in range(9)], tmp_path)
    assert (end.stop, end.turns) == (StopReason.LOOP, 4)
    contents = [item.content for item in bench.results()]
    assert contents == ["x", "x", "x" + REPEAT_NOTICE]


def test_changes_by_one_tool_have_their_number_from_the_fourth_in_a_row_on(tmp_path: Path):
    def edit(arguments: object, cancel: CancelToken) -> ToolOutcome:
        return ToolOutcome("Edited.", metadata={"path": "a.py", "before_hash": "1", "after_hash": "2"})

    edits = [says(call("edit", json.dumps({"text": str(n)}), f"c{n}")) for n in range(5)]
    bench, _ = played([*edits, OK, edits[0], says("Done.")], tmp_path, tools={"edit": edit})
    contents = [item.content for item in bench.results()]
    numbered = [f"Edited.\n(edit: number {n} in a row)" for n in (4, 5)]
    assert contents == [*["Edited."] * 3, *numbered, "x", "Edited."]


def test_results_that_differ_only_in_their_spill_file_are_the_same(tmp_path: Path):
    numbers = iter(range(9))

    def long(arguments: object, cancel: CancelToken) -> ToolOutcome:
        name = f"{next(numbers)}.txt"
        return ToolOutcome(f"head [full output: $TMPDIR/out/{name}] tail", metadata={"spill": f"/run/{name}"})

    script = [says(call("long", call_id=f"c{n}")) for n in range(9)]
    end = Bench(script, tmp_path, tools={"long": long}).run()
    assert (end.stop, end.turns) == (StopReason.LOOP, 4)


def test_a_turn_writes_as_much_after_many_turns_as_after_few(tmp_path: Path):
    script = [says(echo(f"{n:04}", f"c{n:04}")) for n in range(120)]
    bench, _ = played([*script, says("Done.")], tmp_path)
    sizes = [0] * 130
    for row in bench.path.read_text().splitlines()[1:]:
        line = json.loads(row)
        sizes[line.get("turn", 0)] += len(row)
    assert sizes[110] - sizes[11] < 40


def test_a_different_result_starts_the_count_of_repetitions_again(tmp_path: Path):
    numbers = iter([1, 1, 2, 2, 3, 3])
    tools = {"poll": lambda arguments, cancel: ToolOutcome(str(next(numbers)))}
    script = [says(call("poll", call_id=f"c{n}")) for n in range(6)]
    _bench, end = played([*script, says("Done.")], tmp_path, tools=tools)
    assert end.stop is StopReason.END_TURN


def test_a_dead_workspace_ends_the_run_and_answers_the_calls_after_it(tmp_path: Path):
    def breaks(arguments: object, cancel: CancelToken) -> ToolOutcome:
        raise AgentError("The tool host is gone.")

    script = [says(call("bad", call_id="a"), echo("x", "b"))]
    bench, end = played(script, tmp_path, tools={"bad": breaks})
    assert (end.stop, end.reason) == (StopReason.ERROR, "The tool host is gone.")
    assert [name for name, _ in bench.ran] == ["bad"]


@pytest.mark.parametrize(("reason", "stop"), [("signal", StopReason.CANCELED), ("time", StopReason.TIME)])
def test_cancel_while_a_tool_runs_answers_the_other_calls_as_canceled(
    tmp_path: Path, reason: str, stop: StopReason
):
    def slow(arguments: object, cancel: CancelToken) -> ToolOutcome:
        cancel.fire(reason)
        return ToolOutcome("stopped half-way", is_error=True)

    bench, end = played([says(call("slow", call_id="a"), echo("x", "b"))], tmp_path, tools={"slow": slow})
    assert end.stop is stop
    contents = [item.content for item in bench.journal().records(Result)]
    assert contents[0] == "stopped half-way"
    assert contents[1].startswith("cancelled: ")


@pytest.mark.parametrize(
    "last", [says(echo("x", "a")), says("Done."), Failed("the request was cancelled", canceled=True)]
)
def test_cancel_while_the_model_answers_runs_none_of_its_calls(tmp_path: Path, last: Complete | Failed):
    def cut_short(cancel: CancelToken) -> Complete | Failed:
        cancel.fire("signal")
        return last

    bench, end = played([cut_short], tmp_path)
    assert end.stop is StopReason.CANCELED
    assert bench.ran == []


def test_a_journal_that_cannot_be_written_ends_the_run(tmp_path: Path):
    def fill(arguments: object, cancel: CancelToken) -> ToolOutcome:
        bench.open_journal.failure = "The journal cannot be written: No space left on device."
        return ToolOutcome("ok")

    bench = Bench([says(call("fill")), says("Done.")], tmp_path, tools={"fill": fill})
    end = bench.run()
    assert (end.stop, end.turns) == (StopReason.ERROR, 1)
    assert end.reason == "The journal cannot be written: No space left on device."


def test_texts_after_results_follow_them_and_are_journalled_as_added(tmp_path: Path):
    def after(info: TurnInfo) -> list[str]:
        return [f"after the call {info.calls[0].id}"] if info.calls[0].id == "a" else []

    script = [says(echo("one", "a")), says(echo("two", "b")), says("Done.")]
    bench, _ = played(script, tmp_path, hooks=Hooks(after_results=after))
    assert [message.role for message in bench.provider.requests[1]] == ["user", "assistant", "tool", "user"]
    assert bench.provider.requests[1][3].text == "after the call a"
    assert len(bench.provider.requests[2]) == 6
    added = [(item.turn, item.text) for item in bench.journal().records(UserText) if item.origin == "added"]
    assert added == [(1, "after the call a")]


def test_nothing_is_added_after_the_results_of_a_turn_that_ends_the_session(tmp_path: Path):
    stop = Stop(StopReason.NEEDS_INPUT, "A question.")
    hooks = Hooks(stop_after_call=lambda: stop, after_results=lambda info: ["never"])
    bench, end = played([says(echo("one", "a"))], tmp_path, hooks=hooks)
    assert end.stop is StopReason.NEEDS_INPUT
    assert [item.origin for item in bench.journal().records(UserText)] == ["task"]


def hand_over(info: TurnInfo) -> bool:
    return bool(info.calls) and info.calls[-1].id == "last" and not info.failed


def test_a_hand_over_ends_the_session_without_another_request(tmp_path: Path):
    _bench, end = played(
        [says("It is done.", echo("one", "last"))], tmp_path, hooks=Hooks(is_handover=hand_over)
    )
    assert (end.stop, end.turns, end.final_text) == (StopReason.END_TURN, 1, "It is done.")


def test_what_the_host_says_after_a_hand_over_follows_its_result(tmp_path: Path):
    told = iter(["A check fails.", None])
    script = [says(echo("one", "last")), says("Mended.")]
    hooks = Hooks(is_handover=hand_over, before_end=lambda: next(told))
    bench, end = played(script, tmp_path, hooks=hooks)
    assert end.turns == 2
    assert [message.role for message in bench.provider.requests[1]] == ["user", "assistant", "tool", "user"]
    assert bench.provider.requests[1][3].text == "A check fails."


def test_a_hand_over_beside_a_failed_call_does_not_end_the_session(tmp_path: Path):
    script = [says(call("nothing", "{}", "a"), echo("one", "last")), says("Done.")]
    _bench, end = played(script, tmp_path, hooks=Hooks(is_handover=hand_over))
    assert end.turns == 2


def test_a_request_is_a_prefix_of_the_next_one(tmp_path: Path):
    script = [says(echo(str(n), f"c{n}")) for n in range(4)]
    bench, _ = played([*script, says("Done.")], tmp_path)
    requests = bench.provider.requests
    for earlier, later in itertools.pairwise(requests):
        assert all(old is new for old, new in zip(earlier, later, strict=False))
        assert len(earlier) < len(later)


TURNS = 6


def meeting(folder: Path, name: str, meet: threading.Barrier, usage: Usage) -> Bench:
    """A session whose every call waits until the other session is in a call, too. Both use the same ids and names."""
    folder.mkdir()
    todo = Todo()

    def together(arguments: Any, cancel: CancelToken) -> ToolOutcome:
        meet.wait(timeout=120)
        mine = todo({"items": [*({"text": i.text, "status": "pending"} for i in todo.items),
                               {"text": name, "status": "pending"}]}, cancel)  # fmt: skip
        return ToolOutcome(f"{name}: {mine.content}", metadata={"path": f"{name}.py"})

    script = [says(f"{name} {n}", call("meet", f'{{"n": {n}}}', f"c{n}"), usage=usage) for n in range(TURNS)]
    return Bench([*script, says(f"{name} is done")], folder, tools={"meet": together})


def side_by_side(tmp_path: Path) -> list[tuple[Bench, Any]]:
    meet = threading.Barrier(2)
    north = meeting(tmp_path / "north", "north", meet, Usage(10, 0, 0, 5))
    south = meeting(tmp_path / "south", "south", meet, Usage(1000, 7, 0, 3))
    ends: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name=name, here=here: ends.update({name: here.run(f"do {name}")}))
        for name, here in (("north", north), ("south", south))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=300)
    return [(north, ends["north"]), (south, ends["south"])]


def test_two_sessions_side_by_side_are_each_as_if_alone(tmp_path: Path):
    (north, first), (south, second) = side_by_side(tmp_path)
    assert (first.final_text, second.final_text) == ("north is done", "south is done")
    assert (first.usage, second.usage) == (Usage(70, 0, 0, 35), Usage(6010, 42, 0, 23))
    assert (first.files.read, second.files.read) == (("north.py",), ("south.py",))
    for here, other in ((north, "south"), (south, "north")):
        assert other not in here.path.read_text("utf-8")
        assert not any(other in str(message) for request in here.provider.requests for message in request)
        assert [line.turn for line in read_journal(here.path).records(BudgetChanged)] == list(
            range(1, TURNS + 2)
        )
