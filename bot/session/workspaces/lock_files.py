"""Lock files in which a merge of the base branch has conflicts: their package managers write them anew, in the sandbox.
Nobody merges them by hand: that would pin versions which nobody resolved."""

import shlex
from posixpath import basename, dirname

from bot.contracts.errors import UsageError
from bot.ecosystems.registry import lock_tool
from bot.gate.dependencies import is_lock_file
from bot.session.context.run import Run
from bot.session.workspaces.agent_workspace import AgentWorkspace
from bot.session.workspaces.start_workspaces import CallPosition, command_arguments

_SECONDS = 600
_TAIL = 600


def check_lock_files(run: Run) -> list[str]:
    """Return the lock files with conflicts. Raises `UsageError` if one of them cannot be written anew."""
    paths = [path for path in run.checkout.conflicted if lock_tool(path)[0] or is_lock_file(path)]
    for path in paths:
        command, egress = lock_tool(path)
        if not command or egress not in run.policy.tiers[run.tier].egress:
            allow = f"allow `egress: [{egress}]` for the tier {run.tier} in the policy"
            raise UsageError(
                f"{path} has conflicts, and only its package manager may write it anew, which needs its registry: "
                f"{allow if command else 'no tool for it is known'}, or merge the base by hand."
            )
    return paths


def only_lock_files(run: Run) -> bool:
    """Whether there are conflicts, all of them in lock files."""
    paths = run.checkout.conflicted
    return bool(paths) and len(check_lock_files(run)) == len(paths)


def write_lock_files(run: Run, workspace: AgentWorkspace) -> None:
    """Write the lock files anew from the base's and the merged manifests. Raises `UsageError`."""
    for path in check_lock_files(run):
        command, _ = lock_tool(path)
        blob = shlex.quote(f"{run.checkout.base_sha}:{path}")
        place, name = shlex.quote(f"./{dirname(path)}"), shlex.quote(basename(path))
        line = f"cd {place} && git cat-file blob {blob} > {name} && {{ {command}; }}"
        outcome = workspace.call(
            "bash", command_arguments(line, _SECONDS), run.cancel_run, CallPosition(0, "lock-files")
        )
        if outcome.metadata.get("exit_code") != 0:
            raise UsageError(f"`{command}` could not write {path} anew: {outcome.content.strip()[-_TAIL:]}")
