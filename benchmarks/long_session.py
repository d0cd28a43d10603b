"""A long session of the program against the scripted model, in each vendor's wire format, with all that was sent."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.long_script import LongScript
from benchmarks.session import ROOT, TASK, SessionFailedError, program, run
from benchmarks.subject import small_repository
from tests.support.model_script import ScriptRequest, Turn
from tests.support.model_server import ModelServer, Received

FORMATS = {
    "Messages": "anthropic/claude-sonnet-5-5",
    "Chat Completions": "openai-chat/gpt-6.2-sol",
    "Responses": "openai-responses/gpt-6.2-sol",
}
MIN_CACHEABLE = 512
"""Of the first of them, in tokens."""

OWN_SKILLS = ("house-style", "release-notes", "shape-names")
SKILLS = (*OWN_SKILLS, *sorted(file.parent.name for file in (ROOT / "skills").glob("*/SKILL.md")))
"""What the sessions are offered: those of their repository, and those that are bundled."""

USED = {
    "todo": "list the shapes of turn",
    "a skill": "# House style",
    "a subagent's report": "They are shapes.",
    "spilled output": "/out/",
    "a kept error": "failing ",
    "the last turns named": "more answers of yours fit",
}
"""What must have been in the requests of a session, and the words that show it."""


@dataclass(frozen=True)
class Sent:
    """One request: its body (`None` where only its size was kept) and when it came and was answered, in ms."""

    body: bytes | None
    size: int
    received: Received

    @property
    def arrived(self) -> float:
        return self.received.arrived_ns / 1e6

    @property
    def answered(self) -> float:
        return self.received.answered_ns / 1e6


@dataclass
class Recorded:
    """A finished session. `summaries` are the numbers of the requests for a summary."""

    script: LongScript
    bundle: Path
    sent: list[Sent] = field(default_factory=list)
    summaries: list[int] = field(default_factory=list)

    @property
    def bodies(self) -> list[bytes]:
        return [one.body for one in self.sent if one.body is not None]


def repository(folder: Path, script: LongScript, model: str, window: int) -> Path:
    """With a policy that allows just the requests that the script will have, for a model of that window."""
    return small_repository(folder, extra=_files(script, model, window))


def hold_long(
    model: str, folder: Path, script: LongScript, window: int, *, keep_bodies: bool = True
) -> Recorded:
    """Hold the session; `folder` gets the repository and the bundle. Raises `SessionFailedError`."""
    where = repository(folder / "repository", script, model, window)
    recorded = Recorded(script, folder / "bundle")

    def answer(request: ScriptRequest) -> Turn:
        received = server.requests[request.number]
        recorded.sent.append(Sent(received.body if keep_bodies else None, len(received.body), received))
        if not request.tools:
            recorded.summaries.append(request.number)
        turn = script(request)
        # A long session's bodies are large, and the server would hold each three times.
        received.raw = received.body = b""
        received.json = {key: value for key, value in received.json.items() if key == "stream_options"}
        return turn

    with (
        ModelServer(answer) as server,
        tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as home,
    ):
        run(program(where, TASK, model=model, bundle=recorded.bundle), server, Path(home))
    if script.count != script.turns:
        raise SessionFailedError(f"The session had {script.count} turns of its own, not {script.turns}.")
    return recorded


def unused(recorded: Recorded) -> list[str]:
    """What the session was to use and did not."""
    bodies = recorded.bodies
    missing = [name for name, words in USED.items() if not any(words.encode() in body for body in bodies)]
    if not any(b"Your next answer is the last" in body for body in bodies):
        missing.append("masking")
    return missing if recorded.summaries else [*missing, "compaction"]


def _files(script: LongScript, model: str, window: int) -> dict[str, str]:
    files = {".github/agent.yml": _policy(script.requests, model, window)}
    for name in OWN_SKILLS:
        title = name.replace("-", " ").capitalize()
        files[f".agents/skills/{name}/SKILL.md"] = _SKILL.format(name=name, title=title)
    return files


def _policy(requests: int, model: str, window: int) -> str:
    allowed = "" if model.startswith("anthropic/") else "    allowed_tools: true\n"
    return (
        f"tiers:\n  maintainer:\n    turns: {requests}\n    usd: 1000\n    minutes: 60\n"
        "    commands: 100000\n    output: 1000\n"
        f"models:\n  {model}:\n    window: {window}\n    max_output: {window // 8}\n{allowed}"
    )


_SKILL = """---
name: {name}
description: {title} of this repository. Use when shapes are named, listed, changed or released, or when somebody asks.
---
# {title}

Say what a shape is for in one line, in the present tense. Name files by their path. List at most twenty.
"""
