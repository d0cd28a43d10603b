"""`slash-agent tool`: run one tool call as the agent would, with sandbox and policy."""

import json
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bot.agent.todo_list import Todo
from bot.agent.toolbox import Handler, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.messages import ToolCall
from bot.contracts.records import masked
from bot.contracts.request import Tier
from bot.contracts.tool_descriptions import TOOL_SPECS
from bot.gate.redact import Redactor
from bot.gate.secrets import known_secrets
from bot.policy.load import POLICY_FILE, load_policy
from bot.session.interruption import cancelled_by_signals
from bot.session.tools.toolbox import Gatekeeper
from bot.session.workspaces.diagnostics_monitor import diagnostics_settings
from bot.session.workspaces.start_workspaces import in_bytes
from bot.skills.folders import checkout_skills
from bot.skills.tool import SkillFolder, SkillTool
from bot.workspace.client import Workspace
from bot.workspace.probe import choose
from bot.workspace.sandbox.backends import Setting
from bot.workspace.start import StartOptions, skills_path


def run_tool(
    tool: str,
    arguments: str,
    root: Path,
    environment: Mapping[str, str],
    *,
    policy_file: Path | None,
    sandbox: Setting,
    assume_read: bool,
) -> str:
    """Return the result, which may be an error result, as JSON: `{"content", "is_error", "metadata"}`, and `follows`,
    the texts that the model gets after it, such as the instructions of a skill. The secrets of `environment` are
    masked, as the model would see it.

    `arguments` is JSON text, as a model would send it. With `assume_read` existing files count as read. Raises
    `NoSandboxError`, and `UsageError` for bad input."""
    root = root.resolve()
    if not root.is_dir():
        raise UsageError(f"There is no folder {root}.")
    try:
        text = policy_file.read_text(encoding="utf-8") if policy_file else None
        policy = load_policy(text, str(policy_file or POLICY_FILE))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The policy file {policy_file} cannot be read: {error}.") from error
    gatekeeper = Gatekeeper(policy, Tier.LOCAL, str(root), lambda record: None)  # one call keeps no journal
    cancel = CancelToken()
    with tempfile.TemporaryDirectory(prefix="slash-agent-tool-") as folder, cancelled_by_signals(cancel):
        confinement = choose(sandbox).confinement
        scratch = Path(folder).resolve()
        options = StartOptions(
            root,
            scratch,
            environment,
            assume_read=assume_read,
            own_git=True,
            diagnostics=diagnostics_settings(policy, Tier.LOCAL),
            limits=in_bytes(policy.sandbox.limits),
        )
        # The skills that a run has, and those that only people start, since a person calls the tool.
        store = SkillFolder(scratch / "skills", skills_path(confinement, scratch / "skills"))
        skill = SkillTool(checkout_skills(root, environment, None), store)
        with Workspace.start(confinement, options, gatekeeper.answer) as workspace:
            todo = Todo()
            handlers: dict[str, Handler] = {
                **{spec.name: partial(workspace.call, spec.name) for spec in TOOL_SPECS},
                todo.spec.name: todo,
                skill.spec.name: skill,
            }
            toolbox = Toolbox((*TOOL_SPECS, todo.spec, skill.spec), handlers, gatekeeper.permit)
            outcome = toolbox.execute(ToolCall("call_1", tool, arguments), cancel).outcome
            follows = list(skill.after_results())
    fields = {"content": outcome.content, "is_error": outcome.is_error, "metadata": dict(outcome.metadata)}
    if follows:
        fields["follows"] = follows
    return json.dumps(masked(fields, Redactor(known_secrets(environment)).text), ensure_ascii=False)
