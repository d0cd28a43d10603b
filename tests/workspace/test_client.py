"""The supervisor against hosts that are not ours: each ends with one sentence, and with its processes dead."""

import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.contracts.cancel import CancelToken
from bot.contracts.errors import NoSandboxError
from bot.workspace import client, process, start
from bot.workspace.client import Workspace, WorkspaceError
from bot.workspace.sandbox.confinement import InheritedFiles, Mounts
from bot.workspace.start import StartOptions
from tests.support.workspaces import Bench, bash, eventually, has_not_grown, open_resources, running

PREAMBLE = """
import json, os, sys, time
def send(message):
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    os.write(1, len(body).to_bytes(4, "big") + body)
def receive():
    size = int.from_bytes(os.read(0, 4), "big")
    body = b""
    while len(body) < size:
        body += os.read(0, size - len(body))
    return json.loads(body)
def ready(**more):
    send({"type": "ready", "pid": 2, "leaks": []} | more)
hello = receive()
"""


class Impostor:
    """Runs a script of the test's in the place of the tool host."""

    name = "impostor"
    tier = "none"
    severs = True
    supports_egress = False
    lets_through: frozenset[str] = frozenset()

    def __init__(self, script: str, mark: str, *, confines: bool = False) -> None:
        self.confines = self.moves = confines
        self._command = [sys.executable, "-I", "-S", "-c", PREAMBLE + script, mark]

    def root(self, mounts: Mounts) -> str:
        return mounts.mount

    def command(self, argv: Sequence[str], mounts: Mounts, inherited: InheritedFiles) -> list[str]:
        return self._command


@pytest.fixture(autouse=True)
def a_short_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_OWN_WAY_OUT", 0.3)


def shorten(monkeypatch: pytest.MonkeyPatch, *limits: str) -> None:
    """For a host that says nothing: one that talks gets its time, on a busy machine too."""
    for name in limits:
        monkeypatch.setattr(start if name == "_HANDSHAKE_LIMIT" else client, name, 0.5)


@pytest.fixture
def mark(tmp_path: Path) -> str:
    return f"impostor-of-{tmp_path}"


STARTS = {
    "silence": ("time.sleep(60)", "no answer within the time limit"),
    "its end": ("sys.exit(1)", "the tool host ended"),
    "no frame": ("os.write(1, b'hello, this is no frame of any kind'); time.sleep(60)", "over the limit"),
    "a frame cut off": ("os.write(1, b'\\0\\0\\0\\x09{')", "the tool host ended"),
    "no JSON": ("send(b'nonsense'); time.sleep(60)", "not JSON"),
    "no object": ("send(b'[]'); time.sleep(60)", "not a JSON object"),
    "JSON too deep": ("send(b'[' * 200000); time.sleep(60)", "nested too deeply"),
    "a number that is none": ("ready(pid=float('nan')); time.sleep(60)", "NaN is not JSON"),
    "another frame": ("send({'type': 'result'}); time.sleep(60)", "'result' where 'ready' was due"),
    "a fact too many": ("ready(more=1); time.sleep(60)", "other fields"),
    "a fact of the wrong kind": ("ready(pid=True); time.sleep(60)", "'pid' of a message has the wrong type"),
    "leaks that are no sentences": ("ready(leaks=[1]); time.sleep(60)", "not a list of sentences"),
}


@pytest.mark.parametrize("how", STARTS)
def test_a_start_that_answers_with(how: str, bench: Bench, mark: str, monkeypatch: pytest.MonkeyPatch):
    script, sentence = STARTS[how]
    if how == "silence":
        shorten(monkeypatch, "_HANDSHAKE_LIMIT")
    with pytest.raises(WorkspaceError, match=f"The tool host did not start: .*{sentence}"):
        bench.start(Impostor(script, mark))
    assert running(mark) == []


CALLS = {
    "silence": ("time.sleep(60)", "no answer within the time limit"),
    "its end": ("sys.exit()", "the tool host ended"),
    "its end and the reason": ("sys.exit('no \\x1bthreads')", r"ended \(no \\x1bthreads\)"),
    "a result for another call": ("result(id=99)", "belongs to no call"),
    "a result that is not text": ("result(content=None)", "'content' of a message has the wrong type"),
    "a field too many": ("result(extra=1)", "other fields"),
    "metadata without bottom": ("result(metadata={'a': [[[[[[[[[[[[[1]]]]]]]]]]]]]})", "nested too deeply"),
    "metadata with a number over all": (
        """send(b'{"type":"result","id":%d,"content":"","is_error":false,"metadata":{"a":1e999}}' % call["id"])""",
        "an infinite number",
    ),
    "a spill file elsewhere": ("result(metadata={'spill': '/etc/passwd'})", "spill file outside"),
    "a spill file above": ("result(metadata={'spill': hello['spill'] + '/../../x'})", "spill file outside"),
    "a frame of 4 GiB": ("os.write(1, b'\\xff' * 4); time.sleep(60)", "over the limit"),
    "a question about another call": ("ask(id=99)", "belongs to no call"),
    "a question about an unknown action": (
        "ask(files=[{'path': 'a', 'action': 'destroy'}])",
        "an action that does not exist",
    ),
    "a question about no file": ("ask(files=[])", "about no file"),
    "a question about too many files": ("ask(files=[{}] * 10001)", "about too many"),
    "a question about what is no file": ("ask(files=['a'])", "other fields than"),
    "questions without end": ("[ (ask(), receive()) for _ in range(2000) ]", "it asks without end"),
    "changes that are not due": ("changes([])", "'changes' where 'result' was due"),
}

WITH_A_CALL = """
ready()
call = receive()
def result(**more):
    send({"type": "result", "id": call["id"], "content": "", "is_error": False, "metadata": {}} | more)
def ask(**more):
    files = [{"path": "a", "action": "change"}]
    send({"type": "ask", "id": call["id"], "tool": "edit", "files": files, "diff": ""} | more)
def changes(files, **more):
    send({"type": "changes", "id": call["id"], "files": files, "done": True, "note": ""} | more)
def changed(**more):
    empty = {"path": "a", "before": None, "after": None, "mode": 420, "content": None, "link": None}
    changes([empty | more])
"""


@pytest.mark.parametrize("how", CALLS)
def test_a_call_answered_with(how: str, bench: Bench, mark: str, monkeypatch: pytest.MonkeyPatch):
    script, sentence = CALLS[how]
    workspace = bench.start(Impostor(f"{WITH_A_CALL}{script}\ntime.sleep(60)", mark))
    if how == "silence":
        shorten(monkeypatch, "_TOOL_LIMIT", "_MARGIN")
    with pytest.raises(WorkspaceError, match=f"The tool host failed during view: .*{sentence}"):
        workspace.call("view", {"path": "a"}, CancelToken())
    assert running(mark) == []


SCANS = {
    "silence": ("time.sleep(60)", "no answer within the time limit"),
    "a path above": ("changed(path='../x')", "no path in the work tree"),
    "an absolute path": ("changed(path='/etc/passwd')", "no path in the work tree"),
    "a hash that is none": ("changed(after='0')", "hash is no hash"),
    "content that is not base64": ("changed(content='~', after='0' * 64)", "not base64"),
    "content that is not what its hash says": ("changed(content='eA==', after='0' * 64)", "not what its hash says"),
    "changes of the wrong kind": ("changes(['a'])", "other fields than"),
    "frames without end": ("\nwhile True: changes([], done=False)", "no answer within the time limit"),
}  # fmt: skip


@pytest.mark.parametrize("how", SCANS)
def test_a_scan_answered_with(how: str, bench: Bench, mark: str, monkeypatch: pytest.MonkeyPatch):
    script, sentence = SCANS[how]
    workspace = bench.start(Impostor(f"{WITH_A_CALL}{script}\ntime.sleep(60)", mark))
    if sentence == "no answer within the time limit":
        shorten(monkeypatch, "_SCAN_LIMIT")
    with pytest.raises(WorkspaceError, match=f"The tool host failed during a scan: .*({sentence})"):
        workspace.scan()
    assert running(mark) == []


def test_a_host_that_does_not_read_is_given_up(bench: Bench, mark: str, monkeypatch: pytest.MonkeyPatch):
    workspace = bench.start(Impostor("ready(); time.sleep(60)", mark))
    shorten(monkeypatch, "_SEND_LIMIT")
    with pytest.raises(WorkspaceError, match="does not read what it is sent"):
        workspace.call("write", {"path": "a", "content": "x" * (4 << 20)}, CancelToken())
    assert running(mark) == []


def test_after_a_failure_every_call_says_the_same(bench: Bench, mark: str):
    workspace = bench.start(Impostor(WITH_A_CALL + "sys.exit()", mark))
    with pytest.raises(WorkspaceError) as first:
        workspace.call("view", {}, CancelToken())
    with pytest.raises(WorkspaceError) as second:
        workspace.call("view", {}, CancelToken())
    assert str(first.value) == str(second.value)


def test_a_confined_host_that_reports_a_leak_is_refused(bench: Bench, mark: str):
    impostor = Impostor("ready(leaks=['the file /x can be read']); time.sleep(60)", mark, confines=True)
    with pytest.raises(NoSandboxError, match="does not hold: the file /x can be read"):
        bench.start(impostor)
    assert eventually(lambda: running(mark) == [])


def test_a_sandbox_that_fails_names_the_step_and_the_fix(bench: Bench, mark: str):
    script = "os.write(2, b'bwrap: setting up uid map: Permission denied\\n'); sys.exit(1)"
    with pytest.raises(
        NoSandboxError, match=r"setting up uid map: Permission denied.*apt-get install bubblewrap"
    ):
        bench.start(Impostor(script, mark, confines=True))


@pytest.mark.slow
def test_no_descriptor_and_no_thread_is_left_by_starts_that_failed(bench: Bench, mark: str):
    with pytest.raises(WorkspaceError):
        bench.start(Impostor("sys.exit(1)", mark))
    before = open_resources()
    for number in range(20):
        folder = bench.folder / f"extra-{number}"
        folder.mkdir()
        with pytest.raises(WorkspaceError):
            Workspace.start(
                Impostor("sys.exit(1)", mark),
                StartOptions(bench.tree, folder, {}),
                lambda _: client.Answer(True),
            )
    assert eventually(lambda: has_not_grown(before))


def test_cancel_ends_a_command_at_once_and_the_workspace_goes_on(workspace: Workspace, tree: Path):
    cancel = CancelToken()
    begun = tree / "begun"

    def fire_once_begun() -> None:
        while not begun.exists():
            time.sleep(0.01)
        cancel.fire("signal")

    threading.Thread(target=fire_once_begun, daemon=True).start()
    started = time.monotonic()
    outcome = workspace.call(
        "bash", {"command": "echo begun; touch begun; sleep 600", "timeout": 600}, cancel
    )
    assert time.monotonic() - started < 60
    assert outcome.is_error
    assert outcome.content.startswith("begun\n[cancelled")
    assert bash(workspace, "echo on").content.startswith("on\n")


def test_a_token_that_fired_before_cancels_the_call(workspace: Workspace):
    cancel = CancelToken()
    cancel.fire("time")
    outcome = workspace.call("bash", {"command": "sleep 60", "timeout": 60}, cancel)
    assert "cancelled" in outcome.content


def test_close_from_another_thread_ends_a_call(bench: Bench, tmp_path: Path):
    workspace = bench.start()
    bash(workspace, "true")
    seconds = f"3{abs(hash(str(tmp_path))) % 10**9}"
    threading.Timer(0.2, workspace.close).start()
    with pytest.raises(WorkspaceError, match="closed"):
        bash(workspace, f"sleep {seconds}", timeout=60)
    assert eventually(lambda: running(seconds) == [])


def test_an_ask_that_raises_closes_the_workspace(bench: Bench):
    def refuse(_: client.Question) -> client.Answer:
        raise KeyboardInterrupt

    workspace = bench.start(ask=refuse)
    with pytest.raises(KeyboardInterrupt):
        workspace.call("write", {"path": "new.txt", "content": "x"}, CancelToken())
    with pytest.raises(WorkspaceError, match="closed"):
        bash(workspace, "true")


def test_a_question_reaches_the_supervisor_and_its_no_reaches_the_model(bench: Bench):
    asked: list[client.Question] = []

    def refuse(question: client.Question) -> client.Answer:
        asked.append(question)
        return client.Answer(False, "not this file")

    outcome = bench.start(ask=refuse).call("write", {"path": "new.txt", "content": "x\n"}, CancelToken())
    assert outcome.is_error
    assert "not this file" in outcome.content
    assert (asked[0].tool, asked[0].files) == ("write", (("new.txt", "create"),))
    assert "+x" in asked[0].diff
    assert not (bench.tree / "new.txt").exists()


def test_a_workspace_that_did_not_start_starts_again_in_its_folders(tmp_path: Path):
    assert start.make_folders(tmp_path, None, None) == start.make_folders(tmp_path, None, None)
