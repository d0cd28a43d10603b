"""Which tests are related to a change, asked of the tool host that has its tree, as commands for both sides."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from bot.checkout.git import GitError
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.evidence.related import asks_host, kind_of, related_command, runner_of_scripts
from bot.run.history import History
from bot.workshop.client.workshop import Workshop


def related_commands(
    commands: Mapping[int, str], history: History, tree_sha: str, workshop: Workshop, cancel: CancelToken
) -> dict[int, tuple[str, str]]:
    """For each check, by its number, the command for its related tests: on the base, empty if it has none of them, and
    with the change. `workshop` has the tree of the change."""
    try:
        changed, here, base = history.changes(tree_sha)[0], history.paths(tree_sha), history.paths()
    except GitError:
        return {}
    script = _test_script(history.read("package.json"))
    found: dict[int, tuple[str, str]] = {}
    for number, command in commands.items():
        kind = kind_of(command, script)
        tests = _asked(workshop, kind, changed, cancel) if asks_host(kind) else ()
        if after := related_command(command, kind, changed, tests, set(here), script):
            found[number] = (related_command(command, kind, changed, tests, set(base), script), after)
    return found


def _asked(workshop: Workshop, kind: str, changed: Sequence[str], cancel: CancelToken) -> tuple[str, ...]:
    """What the host says. Of it only paths that git has, or plain names of crates, get into a command."""
    question = {"kind": kind, "changed": [path for path in changed if path.isprintable()]}
    try:
        told = workshop.call("related_tests", question, cancel).metadata.get("tests")
    except AgentError:
        return ()
    return tuple(path for path in told if isinstance(path, str)) if isinstance(told, list) else ()


def _test_script(manifest: str | None) -> str:
    """What `npm test` runs; empty if nobody can say."""
    try:
        scripts = json.loads(manifest or "{}")["scripts"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return runner_of_scripts(scripts) if isinstance(scripts, dict) else ""
