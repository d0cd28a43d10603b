"""Check that workflows of the checkout run the action and the maintenance tasks."""

import re
from pathlib import Path

from bot.doctor.contribution_rules import OWN_ACTION, WORKFLOWS, missing, ok, texts, warning
from bot.doctor.finding import Finding
from bot.maintenance.task import FOLDER, is_task_file

# The called workflow, the mode in which the action plans, or a step that runs one task.
_RUNS_TASKS = re.compile(
    r"slash-agent/\.github/workflows/maintenance\.yml|^\s*(?:mode:\s*plan|task:\s*\S)", re.MULTILINE
)


def check_workflow(root: Path) -> Finding:
    for path, text in texts(root, f"{WORKFLOWS}/*.y*ml"):
        if OWN_ACTION.search(text) and "/agent" in text:
            return ok("workflow", f"{path} runs the action.")
    message = f"No workflow in {WORKFLOWS} runs the action."
    return missing(
        "workflow", message, "slash-agent init writes one; it counts once it is on the default branch"
    )


def check_maintenance(root: Path) -> list[Finding]:
    """Check that a workflow runs the maintenance tasks; nothing without tasks."""
    if not any(is_task_file(file.name) for file in (root / FOLDER).glob("*.md")):
        return []
    for path, text in texts(root, f"{WORKFLOWS}/*.y*ml"):
        if _RUNS_TASKS.search(text):
            return [ok("maintenance", f"{path} runs tasks.")]
    message = f"No workflow in {WORKFLOWS} runs the tasks in {FOLDER}."
    return [warning("maintenance", message, "slash-agent init --tasks writes one")]
