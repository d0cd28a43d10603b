"""Renders the prompt files under `prompts/`: strictly, once a session, no clock or chance in the prefix."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import NamedTuple

from bot.contracts.request import Request, Thread
from bot.contracts.tools import ToolSpec

_FOLDER = Path(__file__).parent / "prompts"


class PromptError(Exception):
    """A prompt file names something that nobody gave it: a bug of ours."""


class Facts(NamedTuple):
    """What the model should know of where it works.

    `root` is the work tree's path as its tools see it; `checks` are the commands that will judge the change;
    `notes` are further sentences.
    """

    root: str
    platform: str
    base_sha: str
    checks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def render(name: str, **values: str) -> str:
    """The prompt file `name` with `$name` filled in. Raises `PromptError` for a name without a value."""
    template = Template((_FOLDER / f"{name}.md").read_text(encoding="utf-8"))
    try:
        return template.substitute(values)
    except (KeyError, ValueError) as error:
        raise PromptError(f"the prompt {name} cannot be rendered: {error}") from error


def system_prompt(verb: str, tools: Iterable[ToolSpec]) -> str:
    """The system text of a verb. It may name only tools that the session has (S-100)."""
    return render(verb, **{tool.name: f"`{tool.name}`" for tool in tools})


def new_marker() -> str:
    """A word that nobody who wrote into the thread can have known. Take one a session."""
    return os.urandom(8).hex()


def first_message(request: Request, facts: Facts, marker: str) -> str:
    """The first user message of a `fix`: what is asked, where, and the thread fenced as data."""
    thread = request.thread
    return render(
        "fix_task",
        instruction=request.wish.strip(),
        facts="\n".join(f"- {line}" for line in _fact_lines(facts)),
        thread=render("thread", marker=marker, text=_thread_text(thread)) if thread else "",
    ).rstrip()


def _fact_lines(facts: Facts) -> Sequence[str]:
    lines = [
        f"repository root: {facts.root}",
        f"platform: {facts.platform}",
        f"base commit: {facts.base_sha}",
    ]
    lines += [f"check, run before and after your change: `{command}`" for command in facts.checks]
    return [*lines, *facts.notes]


def _thread_text(thread: Thread) -> str:
    """All that intake let through: it has kept the thread to a length already."""
    kind = "Pull request" if thread.is_pull_request else "Issue"
    parts = [f"{kind} #{thread.number} by {thread.author}: {thread.title}", thread.body.strip()]
    if thread.left_out:
        parts.append(f"(Left out: {'; '.join(thread.left_out)}.)")
    parts += [f"Comment by {one.author}, {one.created_at}:\n{one.body.strip()}" for one in thread.comments]
    return "\n\n".join(parts)
