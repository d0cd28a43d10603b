"""`slash-agent tool`: one tool call exactly as the agent would make it, sandbox and policy included."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from bot.agent.todo import Todo
from bot.agent.toolbox import Handler, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.journal import Record
from bot.contracts.messages import ToolCall
from bot.contracts.request import Tier
from bot.contracts.tools import ToolOutcome
from bot.gate.redact import Redactor
from bot.policy.load import load_policy
from bot.policy.schema import Policy
from bot.run.lent import LentModels
from bot.run.looking_on import asked_of
from bot.run.secrets import known_secrets
from bot.run.server_terms import server_terms
from bot.run.signals import cancelled_by_signals
from bot.run.tools import Gatekeeper
from bot.run.workshops import in_bytes
from bot.sandbox.choose import Setting
from bot.sandbox.confinement import Confinement
from bot.skills.find import here
from bot.skills.grants import ActiveGrants
from bot.skills.shelf import Shelf
from bot.skills.tool import SkillTool
from bot.workshop.client.plan import skills_place
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


class Answered(NamedTuple):
    """`follows` is what the model is told after the result: of `skill`, the instructions."""

    outcome: ToolOutcome
    follows: tuple[str, ...] = ()


def run_tool(asked: OneCall, environment: Mapping[str, str]) -> Answered:
    """The result, also when it is an error result. Raises `NoSandboxError`, and `UsageError` for bad input."""
    root = asked.root.resolve()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.")
    policy = load_policy(_text(asked.policy), str(asked.policy)) if asked.policy else load_policy(None)
    gatekeeper = Gatekeeper(policy, Tier.LOCAL, str(root), _forget)
    cancel = CancelToken()
    with tempfile.TemporaryDirectory(prefix="slash-agent-tool-") as folder, cancelled_by_signals(cancel):
        confinement = choose(asked.sandbox).confinement
        own = Path(folder).resolve()
        skill = _skill(root, own / "skills", confinement, policy)
        workshop = Workshop.start(
            confinement,
            tree=root,
            folder=own,
            environment=environment,
            ask=gatekeeper.answer,
            assume_read=asked.assume_read,
            diagnostics=asked_of(policy.diagnostics, server_terms(policy, Tier.LOCAL)),
            limits=in_bytes(policy.sandbox.limits),
        )
        with workshop:
            handlers: dict[str, Handler] = {spec.name: _through(workshop, spec.name) for spec in TOOL_SPECS}
            todo = Todo()
            handlers |= {todo.spec.name: todo, skill.spec.name: skill}
            specs = (*TOOL_SPECS, todo.spec, skill.spec)
            toolbox = Toolbox(specs, handlers, gatekeeper.permit)
            executed = toolbox.execute(ToolCall("call_1", asked.tool, asked.arguments), cancel)
            return Answered(executed.outcome, tuple(skill.after_results()))


def as_json(answered: Answered, environment: Mapping[str, str]) -> str:
    """`{"content", "is_error", "metadata"}`, and `follows` where there is something; with the secrets of `environment`
    masked, as the model would see it."""
    mask = Redactor(known_secrets(environment)).text
    outcome = answered.outcome
    fields: dict[str, Any] = {
        "content": mask(outcome.content),
        "is_error": outcome.is_error,
        "metadata": _masked(dict(outcome.metadata), mask),
    }
    if answered.follows:
        fields["follows"] = list(map(mask, answered.follows))
    return json.dumps(fields, ensure_ascii=False)


def _masked(value: Any, mask: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {name: _masked(item, mask) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(item, mask) for item in value]
    return value


def _through(workshop: Workshop, tool: str) -> Handler:
    return lambda arguments, cancel: workshop.call(tool, arguments, cancel)


def _skill(root: Path, folder: Path, confinement: Confinement, policy: Policy) -> SkillTool:
    """Of HEAD and of the bundled ones, as a run has them; the bundled ones are always there."""
    models = LentModels(str, policy, None)
    shelf = Shelf(folder, skills_place(confinement, folder))
    return SkillTool(here(root).held, shelf, ActiveGrants(str(root)), models)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The policy file {path} cannot be read: {error}.") from error


def _forget(record: Record) -> None:
    """One call keeps no journal."""
