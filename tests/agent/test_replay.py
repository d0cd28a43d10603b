"""Replay: what is fed to the loop, what is compared, and the first difference by name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bot.agent.journal import Journal, JournalFile, read_journal
from bot.agent.replay import (
    RecordedCall,
    ReplayError,
    Tape,
    edit_difference,
    file_problem,
    first_difference,
    recorded_calls,
)
from bot.agent.toolbox import FATAL_PREFIX
from bot.contracts.journal import FilesChanged, FileVersion, Record, Response, Result, RunEnded, SessionEnded
from bot.contracts.messages import ToolCall
from bot.contracts.tools import ToolOutcome
from tests.support.sessions import header

EDITED = {"path": "a.py", "before_hash": "1", "after_hash": "2"}
TURN_1 = Response(
    1,
    (ToolCall("c1", "bash", '{"command": "x"}'), ToolCall("c2", "edit", '{"path": "a.py"}')),
    "tool_use",
    "",
)
RESULTS = (Result(1, "c1", "bash", "ok"), Result(1, "c2", "edit", "edited", metadata=EDITED))


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def version(path: str, content: bytes | None, after: str | None = "") -> FileVersion:
    return FileVersion(path, None, sha256(content or b"") if after == "" else after, content=content)


def journal(folder: Path, *records: Record, secret: str = "\0") -> JournalFile:
    path = folder / f"{len(list(folder.iterdir()))}.jsonl"
    with Journal(path, lambda text: text.replace(secret, "*")) as writer:
        writer.write(header())
        for record in records:
            writer.write(record)
    return read_journal(path)


def test_calls_come_with_their_results_and_the_files_they_changed(tmp_path: Path) -> None:
    files = FilesChanged(1, (version("x", b"x"),), "c1"), FilesChanged(1, (version("y", b"y"),))
    first, second = recorded_calls(journal(tmp_path, TURN_1, *RESULTS, *files))
    assert (first.call.id, first.result, [file.path for file in first.files]) == ("c1", RESULTS[0], ["x"])
    assert (second.call.id, second.result, [file.path for file in second.files]) == ("c2", RESULTS[1], ["y"])


def test_a_call_that_the_run_died_in_has_no_result(tmp_path: Path) -> None:
    second = recorded_calls(journal(tmp_path, TURN_1, RESULTS[0]))[1]
    assert second.result is None
    with pytest.raises(ReplayError, match=r"turn 1, edit \(c2\): the recorded run died in this call"):
        assert second.outcome


def test_calls_of_one_id_in_two_turns_are_told_apart(tmp_path: Path) -> None:
    turns = [Response(n, (ToolCall("c", "bash", "{}"),), "tool_use", "") for n in (1, 2)]
    results = [Result(n, "c", "bash", f"result {n}") for n in (1, 2)]
    calls = recorded_calls(journal(tmp_path, turns[0], results[0], turns[1], results[1]))
    assert [call.outcome.content for call in calls] == ["result 1", "result 2"]


def test_the_tape_hands_out_only_calls_that_reached_a_handler(tmp_path: Path) -> None:
    unknown = Result(1, "c1", "bash", "There is no tool", is_error=True, executed=False)
    tape = Tape(recorded_calls(journal(tmp_path, TURN_1, unknown, RESULTS[1])))
    assert tape.take("edit").call.id == "c2"
    with pytest.raises(ReplayError, match="after the recording's last call"):
        tape.take("edit")


def test_the_tape_names_where_the_replay_goes_another_way(tmp_path: Path) -> None:
    tape = Tape(recorded_calls(journal(tmp_path, TURN_1, *RESULTS)))
    with pytest.raises(ReplayError, match=r"turn 1, bash \(c1\): the replay calls view instead"):
        tape.take("view")


@pytest.mark.parametrize(
    ("again", "said"),
    [
        (ToolOutcome("edited", metadata=EDITED), ""),
        (ToolOutcome("edited, other words", metadata={**EDITED, "duration": 3}), ""),
        (ToolOutcome("edited", metadata={**EDITED, "after_hash": "3"}), "after_hash was 2 and is 3"),
        (ToolOutcome("no match", is_error=True), "it failed this time: no match"),
    ],
)
def test_an_edit_made_again_is_compared_by_its_hashes(tmp_path: Path, again: ToolOutcome, said: str) -> None:
    recorded = recorded_calls(journal(tmp_path, TURN_1, *RESULTS))[1]
    difference = edit_difference(recorded, again)
    assert said in difference
    assert bool(difference) == bool(said)


def test_an_edit_whose_text_was_masked_is_named_as_such(tmp_path: Path) -> None:
    turn = Response(1, (ToolCall("c2", "edit", '{"old": "hunter2"}'),), "tool_use", "")
    recorded = recorded_calls(journal(tmp_path, turn, RESULTS[1], secret="hunter2"))[0]
    assert "a secret was masked" in edit_difference(recorded, ToolOutcome("no match", is_error=True))


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (version("a", b"text"), ""),
        (version("gone", None, None), ""),
        (FileVersion("link", None, "x", link="a"), ""),
        (FileVersion("big", None, "x", oversize=True), "big was too large to record"),
        (version("env", b"key=hunter2"), "the recorded env lacks what the redactor masked"),
    ],
)
def test_files_that_cannot_be_put_in_place_are_named(tmp_path: Path, file: FileVersion, said: str) -> None:
    kept = journal(tmp_path, TURN_1, *RESULTS, FilesChanged(1, (file,), "c1"), secret="hunter2")
    trouble = file_problem(recorded_calls(kept)[0])
    assert said in trouble
    assert bool(trouble) == bool(said)


END = (SessionEnded("end_turn", "", 2), RunEnded("changed", "end_turn", "", patch_sha256="p"))


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ((TURN_1, *RESULTS, *END), ""),
        ((TURN_1, RESULTS[0]._replace(duration=9.0), RESULTS[1], *END), ""),
        (
            (TURN_1, RESULTS[0]._replace(content="no"), RESULTS[1], *END),
            "turn 1, bash (c1): the result differs",
        ),
        ((TURN_1, RESULTS[0], RESULTS[1]._replace(is_error=True), *END), "is_error was False and is True"),
        (
            (
                TURN_1,
                RESULTS[0],
                RESULTS[1]._replace(is_error=True, content=f"{FATAL_PREFIX}no such file."),
                *END,
            ),
            "turn 1, edit (c2): no such file.",
        ),
        (
            (
                TURN_1,
                RESULTS[0]._replace(is_error=True, content=f"{FATAL_PREFIX}turn 1, bash (c1): x."),
                *END,
            ),
            "turn 1, bash (c1): x.",
        ),
        ((TURN_1, RESULTS[0], *END), "turn 1, edit (c2): only one of the runs has its result"),
        ((), "turn 1, bash (c1): only the recording has this call"),
        ((TURN_1, *RESULTS, END[0], END[1]._replace(patch_sha256="q")), "patch_sha256 was p and is q"),
        (
            (TURN_1, *RESULTS, END[0]._replace(stop_reason="loop"), END[1]),
            "stop_reason was end_turn and is loop",
        ),
    ],
)
def test_the_first_difference_of_two_runs_is_named(
    tmp_path: Path, again: tuple[Record, ...], said: str
) -> None:
    recorded = journal(tmp_path, TURN_1, *RESULTS, *END)
    difference = first_difference(recorded, journal(tmp_path, *again))
    assert said in difference
    assert bool(difference) == bool(said)


def test_of_a_patch_each_file_is_compared() -> None:
    def patched(**second: str) -> ToolOutcome:
        files = [EDITED, {"path": "b.py", "before_hash": None, "after_hash": "3"} | second]
        return ToolOutcome("done", metadata={"files": files})

    result = Result(1, "c2", "patch", "done", metadata=patched().metadata)
    recorded = RecordedCall(1, ToolCall("c2", "patch", "{}"), result)
    assert edit_difference(recorded, patched()) == ""
    assert edit_difference(recorded, patched(after_hash="4")) == (
        "turn 1, patch (c2): after_hash of b.py was 3 and is 4."
    )
    assert edit_difference(recorded, patched(moved_from="a")) == (
        "turn 1, patch (c2): moved_from of b.py was None and is a."
    )
    assert "it changed ['a.py', 'b.py'] and changes ['a.py', 'c.py']" in edit_difference(
        recorded, patched(path="c.py")
    )
