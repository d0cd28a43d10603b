"""`slash-agent tool`: one tool call exactly as the agent would make it, sandbox and policy included."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.agent.toolbox import Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.journal import Record
from bot.contracts.messages import ToolCall
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome
from bot.policy.load import load_policy
from bot.run.signals import cancelled_by_signals
from bot.run.tools import Gatekeeper
from bot.sandbox.choose import Setting
from bot.workshop.client.specs import TOOL_SPECS
from bot.workshop.client.wall import choose
from bot.workshop.client.workshop import Workshop


@dataclass(frozen=True, slots=True)
class OneCall:
    """`arguments` is JSON text, as a model would send it. With `assume_read` existing files count as shown."""

    tool: str
    arguments: str
    root: Path
    policy: Path | None = None
    sandbox: Setting = "auto"
    assume_read: bool = False


def run_tool(asked: OneCall, environment: Mapping[str, str]) -> ToolOutcome:
    """The result, also when it is an error result. Raises `NoSandboxError`, and `UsageError` for bad input."""
    root = asked.root.resolve()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.")
    policy = load_policy(_text(asked.policy), str(asked.policy)) if asked.policy else load_policy(None)
    gatekeeper = Gatekeeper(policy, Tier.LOCAL, str(root), _forget)
    cancel = CancelToken()
    with tempfile.TemporaryDirectory(prefix="slash-agent-tool-") as folder, cancelled_by_signals(cancel):
        workshop = Workshop.start(
            choose(asked.sandbox).confinement,
            tree=root,
            folder=Path(folder).resolve(),
            environment=environment,
            ask=gatekeeper.answer,
            assume_read=asked.assume_read,
        )
        with workshop:
            handlers = {
                spec.name: lambda arguments, token, name=spec.name: workshop.call(name, arguments, token)
                for spec in TOOL_SPECS
            }
            toolbox = Toolbox(TOOL_SPECS, handlers, gatekeeper.permit)
            return toolbox.execute(ToolCall("call_1", asked.tool, asked.arguments), cancel).outcome


def as_json(outcome: ToolOutcome) -> str:
    """`{"content", "is_error", "metadata"}`."""
    fields = {"content": outcome.content, "is_error": outcome.is_error, "metadata": dict(outcome.metadata)}
    return json.dumps(fields, ensure_ascii=False)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The policy file {path} cannot be read: {error}.") from error


def _forget(record: Record) -> None:
    """One call keeps no journal."""
