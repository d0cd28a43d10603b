"""Ours beside mini-swe-agent on real tasks with equal scripted steps: how many characters each makes the model read.

python -m benchmarks.peers.equal_steps --only tomlkit --json equal_steps.json
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine
from benchmarks.peers.catalogue import PEERS, Peer, Place, Started
from benchmarks.peers.install import install
from benchmarks.peers.recorded_tasks import RECORDED
from benchmarks.peers.tasks import TASKS, Change, Grep, Run, Step, Task, View, checkout, fix_of
from benchmarks.peers.wire import Conversation, answer, conversation
from benchmarks.session import clean_environment, program
from benchmarks.table import align
from tests.support.model_script import Call, Raw, Say, ScriptRequest
from tests.support.model_script import Step as Scripted
from tests.support.model_server import ModelServer

MODEL = "openai-chat/gpt-5"
HEADER = (
    "task",
    "agent",
    "requests",
    "new characters",
    "all characters",
    "first request",
    "of it tools",
    "refused edits",
)
ALL = (*TASKS, *RECORDED)
_LIMIT = 900
_HEADING = 80
"""Characters at which git cuts the heading of a hunk, which then is no line of the file."""


class TaskFailedError(Exception):
    """An agent did not get through the script."""


@dataclass(frozen=True)
class Figures:
    """Characters as the model reads them: texts, arguments and the tools as JSON. `new` are those of each request that
    the one before it did not have, summed; `failures` counts edits that were refused."""

    requests: int
    new: int
    total: int
    first: int
    tools: int
    failures: int


def equal_steps(task: Task, peer: Peer, folder: Path, requests: Path | None = None) -> Figures:
    """Let `peer` do the task in `folder`. With `requests` each body is kept there. Raises `TaskFailedError`."""
    repository, home = checkout(task, folder / "repository"), folder / "home"
    home.mkdir()
    ours = not peer.registry
    script = Script(task, _our_call if ours else _mini_call)
    with ModelServer(script) as server:
        place = Place(install(peer), home, repository, server.url, task.request)
        started = _ours(place) if ours else peer.start(place)
        rustup = {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))}
        environment = clean_environment(home) | rustup | dict(started.variables)
        completed = subprocess.run(
            list(started.argv), cwd=repository, env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=_LIMIT, check=False,
        )  # fmt: skip
        bodies = [request.body for request in server.requests]
    if requests is not None:
        name = f"{task.name} {peer.name.partition(',')[0]}".replace(" ", "-")
        for number, body in enumerate(bodies):
            (requests / f"{name}-{number:02}.json").write_bytes(body)
    if not script.done:
        words = completed.stdout.decode("utf-8", "replace").strip()[-800:]
        raise TaskFailedError(f"{peer.name} stopped after {len(bodies)} requests of {task.name}: {words}")
    return measured([json.loads(body) for body in bodies])


def measured(bodies: Sequence[Any]) -> Figures:
    """The figures of the requests of one conversation."""
    parsed = [conversation("/chat/completions", body) for body in bodies]
    conversations = [one for one in parsed if one is not None]
    tools = [
        len(json.dumps(body.get("tools", []), ensure_ascii=False, separators=(",", ":"))) for body in bodies
    ]
    sizes = [_size(one.messages) + own for one, own in zip(conversations, tools, strict=True)]
    new = sizes[0] + sum(
        _new(*pair, own) for pair, own in zip(itertools.pairwise(conversations), tools[1:], strict=True)
    )
    failures = sum(_failed(message) for message in conversations[-1].messages)
    return Figures(len(bodies), new, sum(sizes), sizes[0], tools[0], failures)


def _new(earlier: Conversation, later: Conversation, tools: int) -> int:
    if later.tools != earlier.tools:
        return _size(later.messages) + tools
    same = 0
    for one, other in zip(earlier.messages, later.messages, strict=False):
        if one != other:
            break
        same += 1
    return _size(later.messages[same:])


def _size(value: Any) -> int:
    """Characters of all texts in `value`; roles and ids are not counted."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(
            _size(each) for key, each in value.items() if key not in ("role", "type", "id", "tool_call_id")
        )
    return sum(map(_size, value)) if isinstance(value, list | tuple) else 0


def _failed(message: Any) -> bool:
    """Whether it is a result that says that an edit was not made."""
    text = message.get("content") if message.get("role") == "tool" else ""
    return isinstance(text, str) and ("error: patch failed" in text or "Nothing was written" in text)


class Script:
    """The task's answers one after the other, each step as one call of the agent's own tools."""

    def __init__(self, task: Task, call: Callable[[Task, Step | None], tuple[str, dict[str, Any]]]) -> None:
        self._task = task
        self._call = call
        self._asked = 0
        self.done = False

    def __call__(self, request: ScriptRequest) -> Scripted:
        if not request.body.get("tools"):
            return Raw(b'{"data":[]}', "application/json")
        number, self._asked = self._asked, self._asked + 1
        answers = self._task.answers
        if number > len(answers):
            return answer(request, Say("Done."))
        steps: Sequence[Step | None] = answers[number].steps if number < len(answers) else (None,)
        sentence = answers[number].sentence if number < len(answers) else "It is done."
        self.done = number == len(answers)
        calls = [
            Call(*self._call(self._task, step), id=f"call_{number}_{place}")
            for place, step in enumerate(steps)
        ]
        return answer(request, Say(sentence), *calls)


def _our_call(task: Task, step: Step | None) -> tuple[str, dict[str, Any]]:
    match step:
        case Grep(pattern, path):
            return "grep", {"pattern": pattern, "path": path}
        case View(path, first, last):
            return "view", {"path": path, "offset": first, "limit": last - first + 1}
        case Run(command):
            return "bash", {"command": command}
        case Change(path):
            return "patch", {"patch": "\n".join(_our_patch(path, fix_of(task, path)))}
        case None:
            return "describe_change", {"title": task.title, "summary": task.summary}


def _our_patch(path: str, diff: str) -> Iterator[str]:
    """A unified diff in our own grammar."""
    action = "Add" if "\nnew file mode" in diff else "Update"
    yield from ("*** Begin Patch", f"*** {action} File: {path}")
    for line in _hunks(diff):
        if line.startswith("@@"):
            if action == "Add":
                continue
            heading = line.split("@@")[2].strip()
            yield f"@@ {heading}".rstrip() if len(heading) < _HEADING else "@@"
        else:
            yield line
    yield "*** End Patch"


def _mini_call(task: Task, step: Step | None) -> tuple[str, dict[str, Any]]:
    return "bash", {"command": _mini_command(task, step)}


def _mini_command(task: Task, step: Step | None) -> str:
    """As its own prompt proposes: `nl -ba FILE | sed -n`."""
    match step:
        case Grep(pattern, path):
            return f"grep -rnE {shlex.quote(pattern)} {path}"
        case View(path, first, last):
            return f"nl -ba {path} | sed -n '{first},{last}p'"
        case Run(command):
            return command
        case Change(path):
            diff = fix_of(task, path)
            names = f"--- {'/dev/null' if 'new file mode' in diff else f'a/{path}'}\n+++ b/{path}\n"
            hunks = "\n".join(_hunks(diff))
            return f"git apply <<'EOF'\n{names}{hunks}\nEOF"
        case None:
            return "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def _hunks(diff: str) -> Iterator[str]:
    lines = diff.rstrip("\n").split("\n")
    first = next(place for place, line in enumerate(lines) if line.startswith("@@"))
    yield from lines[first:]


def _ours(place: Place) -> Started:
    argv = program(place.repository, place.task, model=MODEL).argv
    return Started(argv, {"OPENAI_API_KEY": "scripted-key", "OPENAI_BASE_URL": f"{place.url}/v1"})


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.equal_steps", description=__doc__)
    parser.add_argument("--only", action="append", choices=[task.name for task in ALL], metavar="TASK")
    parser.add_argument("--agent", choices=["ours", "mini"], help="one agent alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON too")
    parser.add_argument("--requests", type=Path, metavar="DIR", help="keep the body of each request there")
    options = parser.parse_args(argv)
    if options.requests:
        os.makedirs(options.requests, exist_ok=True)
    agents = [peer for peer in PEERS if peer.name in ("slash-agent, openai", "mini-swe-agent")]
    if options.agent:
        agents = [peer for peer in agents if bool(peer.registry) == (options.agent == "mini")]
    rows: list[tuple[str, str, Figures]] = []
    for task in ALL:
        for peer in agents if not options.only or task.name in options.only else ():
            print(f"{task.name}: {peer.name}", file=sys.stderr, flush=True)
            with tempfile.TemporaryDirectory(
                prefix="slash-agent-steps-", ignore_cleanup_errors=True
            ) as folder:
                rows.append((task.name, peer.name, equal_steps(task, peer, Path(folder), options.requests)))
    print(f"\n{machine()}\n\n{align([HEADER, *(_line(*row) for row in rows)])}")
    if options.json:
        parsed = [{"task": task, "agent": agent} | asdict(figures) for task, agent, figures in rows]
        options.json.write_text(json.dumps({"machine": machine(), "rows": parsed}, indent=1))
    return 0


def _line(task: str, agent: str, figures: Figures) -> tuple[str, ...]:
    return (task, agent.partition(",")[0], *(f"{value:,}" for value in asdict(figures).values()))


if __name__ == "__main__":
    sys.exit(main())
