"""The bundle: what is written is read back, and what was tampered with is refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.pulls import Comment
from bot.publish.bundle.read import BundleError, parse_outcome, read_bundle
from bot.publish.bundle.write import Bundle, write_bundle
from tests.support.outcomes import OUTCOME, REQUEST, make_outcome, make_request

PATCH = b"diff --git a/x b/x\n\x00binary\xff\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle = tmp_path / "bundle"
    write_bundle(Bundle(bundle, OUTCOME, PATCH, b"held back", "Subject\n\nBody ü\n"))
    (bundle / "report.html").write_text("<html>")
    return bundle


def change_outcome(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "outcome.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))


def test_a_bundle_is_read_back_as_it_was_written(folder: Path) -> None:
    bundle = read_bundle(folder)
    assert bundle.patch == PATCH
    assert bundle.withheld == b"held back"
    assert bundle.message == "Subject\n\nBody ü\n"
    assert bundle.outcome.request == OUTCOME.request
    assert bundle.outcome.checks == OUTCOME.checks


def test_a_thread_too_long_for_the_outcome_is_left_to_the_journal(tmp_path: Path) -> None:
    comments = tuple(Comment(n, "bob", "x" * 60_000, OUTCOME.ended_at, OUTCOME.ended_at) for n in range(200))
    assert REQUEST.thread is not None
    request = make_request(thread=replace(REQUEST.thread, comments=comments))
    write_bundle(Bundle(tmp_path / "b", make_outcome(request=request), PATCH))
    thread = read_bundle(tmp_path / "b").outcome.request.thread
    assert thread is not None
    assert (thread.number, thread.comments) == (7, ())
    assert "journal" in thread.left_out[-1]


def test_a_lone_surrogate_loses_no_bundle(tmp_path: Path) -> None:
    request = make_request(instruction="caf\udce9 \ud83d")
    write_bundle(Bundle(tmp_path / "b", make_outcome(request=request, reason="\udcff"), PATCH, b"", "\udcff"))
    bundle = read_bundle(tmp_path / "b")
    assert (bundle.outcome.request.instruction, bundle.message) == ("caf? ?", "?")


def test_a_bundle_is_replaced_whole(folder: Path) -> None:
    write_bundle(Bundle(folder, make_outcome(turns=9), b"new"))
    bundle = read_bundle(folder)
    assert (bundle.outcome.turns, bundle.patch, bundle.withheld) == (9, b"new", b"")
    assert not (folder / "report.html").exists()


def test_a_journal_that_lies_in_the_bundle_already_stays(tmp_path: Path) -> None:
    journal = tmp_path / "b" / "journal.jsonl"
    journal.parent.mkdir()
    journal.write_text('{"a": 1}\n')
    write_bundle(Bundle(tmp_path / "b", OUTCOME), journal)
    assert journal.read_text() == '{"a": 1}\n'


def test_an_interrupted_write_leaves_no_bundle(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(AgentError, match="could not be written"):
        write_bundle(Bundle(folder, OUTCOME, b"new"), tmp_path / "missing.jsonl")
    with pytest.raises(BundleError):
        read_bundle(folder)


def test_no_folder_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BundleError) as caught:
        read_bundle(tmp_path / "nothing")
    assert caught.value.exit_code is ExitCode.USAGE
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["outcome.json", "changes.patch", "message.md"])
def test_a_missing_file_is_refused(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(BundleError, match=name):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["outcome.json", "changes.patch", "withheld.patch", "message.md"])
def test_a_link_in_place_of_a_file_is_not_followed(folder: Path, tmp_path: Path, name: str) -> None:
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    with pytest.raises(BundleError, match="symbolic link"):
        read_bundle(folder)


def test_a_swapped_patch_is_noticed(folder: Path) -> None:
    (folder / "changes.patch").write_bytes(PATCH + b"more")
    with pytest.raises(BundleError, match="hash differs"):
        read_bundle(folder)


def test_an_outcome_over_the_size_cap_is_not_read(folder: Path) -> None:
    with (folder / "outcome.json").open("ab") as file:
        file.truncate(9 << 20)
    with pytest.raises(BundleError, match="limit"):
        read_bundle(folder)


TAMPERED: dict[str, Callable[[dict[str, Any]], object]] = {
    "unknown field": lambda o: o.update(extra=1),
    "unknown field deep inside": lambda o: o["request"]["actor"].update(admin=True),
    "missing field": lambda o: o.pop("base_sha"),
    "another schema": lambda o: o.update(schema=2),
    "number as text": lambda o: o.update(turns="3"),
    "unknown status": lambda o: o.update(status="merged"),
    "unknown tier": lambda o: o["request"]["actor"].update(tier="owner"),
    "base as option": lambda o: o.update(base_sha="--upload-pack=x"),
    "base branch as option": lambda o: o["request"].update(base_ref="--all"),
    "repository with a path": lambda o: o["request"].update(repository="a/b/../../c"),
    "repository upwards": lambda o: o["request"].update(repository="a/.."),
    "login with a newline": lambda o: o["request"]["actor"].update(login="a\nSigned-off-by: x"),
    "negative id": lambda o: o["request"]["actor"].update(id=-1),
    "thread number zero": lambda o: o["request"]["thread"].update(number=0),
    "link to a script": lambda o: o["request"]["trigger"].update(url="javascript:alert(1)"),
    "link that leaves its brackets": lambda o: o["request"]["trigger"].update(url="https://x/)![](y"),
    "time as prose": lambda o: o.update(ended_at="yesterday"),
    "negative cost": lambda o: o.update(cost=-1),
    "a number with thousands of digits": lambda o: o["usage"].update(input=10**4000),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_a_tampered_outcome_is_refused_in_one_sentence(folder: Path, name: str) -> None:
    change_outcome(folder, TAMPERED[name])
    with pytest.raises(UsageError) as caught:
        read_bundle(folder)
    assert str(caught.value).startswith("outcome.json")
    assert len(str(caught.value).splitlines()) == 1


RAW = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "not UTF-8": b'{"schema": "\xff"}',
    "not a number": b'{"schema": 1, "cost": NaN}',
    "infinite": b'{"schema": 1, "cost": Infinity}',
    "half a character": b'{"schema": 1, "reason": "\\ud800"}',
    "null": b"null",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_outcome_are_refused(name: str) -> None:
    with pytest.raises(UsageError):
        parse_outcome(RAW[name])


def test_a_refusal_repeats_no_control_characters(folder: Path) -> None:
    change_outcome(folder, lambda o: o.update({"\x1b[2J\n::error::": 1}))
    with pytest.raises(UsageError) as caught:
        read_bundle(folder)
    assert "\x1b" not in str(caught.value)
    assert "\n" not in str(caught.value)
