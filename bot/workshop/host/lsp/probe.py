"""Whether a language server can be believed to be one, and how it is started: with an environment that holds no way to
a network and leads what it writes out of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.contracts.plain_text import printable
from bot.workshop.host.cancellation import Cancellation
from bot.workshop.host.context import Context
from bot.workshop.host.lsp.cargo import Cargo
from bot.workshop.host.lsp.frames import Frames
from bot.workshop.host.lsp.origins import Origins, Terms
from bot.workshop.host.lsp.programs import Program
from bot.workshop.host.lsp.registry import Known, Start
from bot.workshop.host.lsp.servers import Hub, Pauses, Server
from bot.workshop.host.lsp.tsserver_talk import TsserverTalk
from bot.workshop.host.programs import run_program

WAIT = 3.0
MEMORY = 2 << 30
"""Bytes of one server with all that it started; over it, it is ended."""

_PROBE = 10.0
"""Seconds in which a program must say its version."""

_SAID = 64 * 1024
_NUMBER = re.compile(r"\d+(?:\.\d+)+[\w.+-]*")
_PROXY = re.compile(r"(?i)(https?|all|no|ftp)_proxy$")


@dataclass(frozen=True, slots=True)
class Settings:
    """`wait` is how long an edit waits, in seconds; `servers` what the policy says of each, by name; `said` what was
    said in this run already, `terms` which may be started. `versions` is filled by probes."""

    wait: float = WAIT
    servers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    said: frozenset[str] = frozenset()
    memory: int = MEMORY
    pauses: Pauses = field(default_factory=Pauses)
    terms: Terms = field(default_factory=Terms)
    versions: dict[str, str] = field(default_factory=dict)


def begin(
    known: Known, start: Start, context: Context, hub: Hub, settings: Settings, origins: Origins
) -> Server | Cargo | str:
    """The server, started; else why not. A name on PATH proves nothing: rustup's stand-ins exit with 1."""
    environment = {**environment_of(known, context), **start.variables}
    root = Path(context.real_root)
    try:
        done = run_program(
            start.asks,
            cwd=start.root or root,
            environment=environment,
            timeout=_PROBE,
            cap=_SAID,
            cancelled=Cancellation(),  # its own: a call that is cancelled says nothing of a server
            start=context.keepers.start_beside,
        )
    except OSError as error:
        return f"{start.argv[0]} could not be run: {error.strerror}"
    if done.timed_out or done.exit_code != 0:
        return f"{' '.join(start.asks)} {_how(done.timed_out, done.exit_code)}{_last(done.errors)}"
    found = _NUMBER.search(done.output.decode("utf-8", "replace"))
    settings.versions[known.name] = found[0] if found else ""

    def why_not() -> str:
        return origins.why_not(known.name, start.argv, start.runs)

    if known.name == "cargo":
        return Cargo(start.argv, environment, context, start.root or root, why_not, origins.base.export)
    return hub.start(
        Program(
            known.name,
            start.argv,
            root,
            environment,
            start.settings,
            start.options,
            pauses=settings.pauses,
            project=start.root,
            talk=TsserverTalk if start.tsserver else Frames,
            spawn=lambda program: spawned(program, context, why_not),
        )
    )


def environment_of(known: Known, context: Context) -> dict[str, str]:
    """That of commands, less every way out, with what keeps it from writing into the tree."""
    held = {name: value for name, value in context.environment.items() if not _PROXY.match(name)}
    own = {name: value.replace("{tmp}", str(context.tmp)) for name, value in known.variables.items()}
    return {**held, "XDG_CACHE_HOME": f"{context.tmp}/cache", **own}


def spawned(program: Program, context: Context, why_not: Callable[[], str]) -> Any:
    """Asked again each time: a server that died may be another program by now."""
    import subprocess

    if why := why_not():
        raise OSError(why)
    return context.keepers.start_beside(
        program.argv,
        cwd=program.folder,
        env=dict(program.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )


def _how(timed_out: bool, exit_code: int) -> str:
    return f"took more than {_PROBE:g} s" if timed_out else f"ended with exit code {exit_code}"


def _last(errors: bytes) -> str:
    lines = [
        line.strip() for line in printable(errors.decode("utf-8", "replace")).split("\n") if line.strip()
    ]
    return f": {lines[-1][:200]}" if lines else ""
