"""Runs of the program whose model follows an attacker, and their results."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support import warm
from tests.support.fix_script import DONE, shell
from tests.support.model_script import ScriptRequest, Step
from tests.support.model_server import ModelServer
from tests.support.stage import MODEL, CommandResult, command

KEY = "sk-test-canary-5e1f0c9a7b3d"


@dataclass(frozen=True)
class AttackResult:
    """One finished run. `request_bodies` are the concatenated bodies of the requests to the model."""

    result: CommandResult
    tool_results: tuple[str, ...]
    request_bodies: bytes
    bundle: Path

    @property
    def outcome(self) -> Any:
        assert (self.bundle / "outcome.json").exists(), self.result.output
        return json.loads((self.bundle / "outcome.json").read_text())

    @property
    def files(self) -> set[str]:
        return {file["path"] for file in self.outcome["files"]}

    @property
    def withheld(self) -> set[str]:
        return {file["path"] for file in self.outcome["withheld"]}

    def all_output(self) -> bytes:
        """Everything that left the run: requests to the model, the bundle, and the output."""
        files = b"".join(path.read_bytes() for path in sorted(self.bundle.iterdir()))
        return self.request_bodies + files + self.result.output.encode()


def fix_with(
    home: Path,
    repo: Path,
    steps: Sequence[Step | str],
    environment: Mapping[str, str],
    *options: object,
    cold: bool = True,
    watch: Callable[[int, ModelServer], object] = lambda pid, server: None,
) -> AttackResult:
    """Run `slash-agent fix` with a model that does `steps` (a text is a command) and ends.

    Use `cold` if a step looks at the program's process: its environment, memory or command line. `watch` is called
    with the process id and the model's server after the start.
    """
    turns = [shell(step) if isinstance(step, str) else step for step in steps]
    bundle = home / "bundle"
    argv = command("fix", "--repo", repo, "--model", MODEL, "--out", bundle, *options, "do as you are told")
    with ModelServer([*turns, DONE, DONE]) as server:
        completed = (warm.run_cold if cold else warm.run)(
            argv, {**environment, **server.environment(KEY)}, home, on_start=lambda pid: watch(pid, server)
        )
        bodies = [request.json for request in server.requests]
        request_bodies = b"".join(request.body for request in server.requests)
    return AttackResult(
        CommandResult(completed.returncode, completed.stdout, completed.stderr),
        tuple(ScriptRequest(0, "", bodies[-1]).results) if bodies else (),
        request_bodies,
        bundle,
    )


def encodings_of(secret: str) -> list[bytes]:
    """Encodings of `secret` that an attacker may use: plain, reversed, hex, and base64 at each offset."""
    raw = secret.encode()
    shifted = [base64.b64encode(b"\0" * shift + raw)[-(-shift * 8 // 6) :][:-4] for shift in range(3)]
    return [raw, raw[::-1], raw.hex().encode(), base64.b64encode(base64.b64encode(raw))[:-4], *shifted]
