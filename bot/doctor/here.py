"""What can be seen from the checkout and this machine: sandbox, model, policy, checks, workflows."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from bot.checkout.leftovers import FIX, left_behind
from bot.contracts.errors import AgentError, NoSandboxError
from bot.contracts.wall import Canary, Wall
from bot.doctor.finding import Finding, State
from bot.environment.detect import detect
from bot.environment.detected import Detected
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.schema import Policy
from bot.providers.reach import PLACES, has_key, reach
from bot.sandbox.choose import remedy
from bot.tasks.file import is_task_file
from bot.tasks.task import FOLDER
from bot.workshop.client.wall import choose

WORKFLOWS = ".github/workflows"
_USES = re.compile(
    r"uses:\s*(?:[\w.-]+/slash-agent(?:@|/)|\./\s*$|\./\.github/workflows/agent)", re.MULTILINE
)
# The called workflow, the mode in which the action plans, or a step that runs one task.
_RUNS_TASKS = re.compile(
    r"slash-agent/\.github/workflows/maintenance\.yml|^\s*(?:mode:\s*plan|task:\s*\S)", re.MULTILINE
)
_MAX_FILE = 256 * 1024
_MOST_FILES = 50_000
_WARNINGS = 3
_NOT_SOURCE = {
    ".git",
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "target",
    "vendor",
    ".cargo-home",
    ".m2",
    ".npm-tools",
}


def look_here(root: Path, environment: Mapping[str, str], *, verbose: bool = False) -> list[Finding]:
    """`root` is the checkout. Starts a sandbox, and asks each provider that has a key for its models."""
    policy = _policy(root)
    return [
        *sandbox(verbose=verbose),
        *models(environment),
        policy,
        *_checks(root, policy),
        workflow(root),
        *maintenance(root),
        *leftovers(root, environment),
    ]


def sandbox(*, verbose: bool = False) -> list[Finding]:
    """What a run would get here, and why it is not the better one. A canary gets a line of its own only if it was
    reached, or with `verbose`."""
    name = "sandbox"
    try:
        wall = choose("auto").wall
    except NoSandboxError as error:
        return [Finding(name, State.MISSING, str(error), remedy())]
    reached = sum(canary.inside for canary in wall.canaries)
    held = f"{len(wall.canaries) - reached} of {len(wall.canaries)} canaries hold"
    said = f"{wall.back_end}, {held}. Tier {wall.tier}; {_kernel(wall)}."
    return [
        Finding(name, State.WARNING if reached else State.OK, said),
        *(Finding(name, State.WARNING, note, remedy()) for note in wall.notes),
        *(
            Finding(f"{name}: {canary.name}", *_canary(canary))
            for canary in wall.canaries
            if verbose or canary.inside
        ),
    ]


def _kernel(wall: Wall) -> str:
    landlock = f"Landlock ABI {wall.abi}" if wall.abi else "no Landlock"
    return f"kernel {wall.kernel}, {landlock}"


def _canary(canary: Canary) -> tuple[State, str]:
    if canary.inside:
        return State.WARNING, "reached from inside"
    if canary.outside:
        return State.OK, "reached without a sandbox, not from inside"
    return State.OK, "closed on this machine, to everybody"


def models(environment: Mapping[str, str]) -> list[Finding]:
    """One finding for each provider that has a key or an address; one for all where none has."""
    found = []
    for provider in PLACES:
        if has_key(provider, environment):
            result = reach(provider, environment)
            state = State.OK if result.taken else State.MISSING
            fix = (
                ""
                if result.taken
                else ("check the key" if result.reached else "check the address and the proxy")
            )
            found.append(Finding(f"model, {provider}", state, result.said, fix))
    if found:
        return found
    fix = "set ANTHROPIC_API_KEY or OPENAI_API_KEY; in Actions give the action its input from a secret"
    return [Finding("model", State.MISSING, "There is no key for a model here.", fix)]


def workflow(root: Path) -> Finding:
    name = "workflow"
    folder = root / WORKFLOWS
    for file in sorted(folder.glob("*.y*ml")) if folder.is_dir() else []:
        text = read_text(file)
        if text and _USES.search(text) and "/agent" in text:
            return Finding(name, State.OK, f"{file.relative_to(root)} runs the action.")
    said = f"No workflow in {WORKFLOWS} runs the action."
    return Finding(
        name, State.MISSING, said, "slash-agent init writes one; it counts once it is on the default branch"
    )


def maintenance(root: Path) -> list[Finding]:
    """Whether the tasks that are there are ever run; nothing where there are none."""
    tasks = [file.name for file in (root / FOLDER).glob("*.md") if is_task_file(file.name)]
    if not tasks:
        return []
    for file in sorted((root / WORKFLOWS).glob("*.y*ml")):
        if (text := read_text(file)) and _RUNS_TASKS.search(text):
            return [Finding("maintenance", State.OK, f"{file.relative_to(root)} runs tasks.")]
    said = f"No workflow in {WORKFLOWS} runs the tasks in {FOLDER}."
    return [Finding("maintenance", State.WARNING, said, "slash-agent init --tasks writes one")]


def leftovers(root: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Credentials that earlier steps of a job left in files; nothing where there are none."""
    said = left_behind(root, environment)
    return [Finding("credentials", State.WARNING, " ".join(said), FIX)] if said else []


def detected_here(root: Path) -> Detected:
    """How the checkout is set up and checked, by its files."""
    return detect(_paths(root), lambda path: read_text(root / path))


def _policy(root: Path) -> Finding:
    name, text = "policy", read_text(root / POLICY_FILE)
    if text is None:
        return Finding(name, State.OK, f"There is no {POLICY_FILE}, so the built-in policy holds.")
    from bot.policy.file import check_policy

    try:
        _, warnings = check_policy(text, POLICY_FILE)
    except AgentError as error:
        return Finding(name, State.MISSING, str(error), f"slash-agent policy check {POLICY_FILE}")
    if not warnings:
        return Finding(name, State.OK, f"{POLICY_FILE} has no problems.")
    said = "; ".join(f"line {one.line}: {one.message}" for one in warnings[:_WARNINGS])
    more = f"; and {len(warnings) - _WARNINGS} more" if len(warnings) > _WARNINGS else ""
    fix = f"say less in these rules; `slash-agent policy check {POLICY_FILE}` has all warnings"
    return Finding(name, State.WARNING, f"{POLICY_FILE} gives away more than it says: {said}{more}.", fix)


def _checks(root: Path, policy: Finding) -> list[Finding]:
    """Which there are; nothing if the policy cannot be read."""
    if policy.state is State.MISSING:
        return []
    read: Policy = load_policy(read_text(root / POLICY_FILE), POLICY_FILE)
    if read.checks:
        named = ", ".join(f"`{check.command}`" for check in read.checks)
        return [Finding("checks", State.UNKNOWN, f"The policy names {named}; not tried.")]
    detected = detected_here(root).checks
    if detected:
        named = ", ".join(f"`{check.plain}`" for check in detected)
        return [Finding("checks", State.UNKNOWN, f"The policy names none; detected {named}; not tried.")]
    said = "No check was found: a pull request will carry no evidence."
    return [Finding("checks", State.WARNING, said, f"name some under `checks:` in {POLICY_FILE}")]


def _paths(root: Path) -> list[str]:
    found: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_SOURCE]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in files]
        if len(found) > _MOST_FILES:
            break
    return found


def read_text(file: Path) -> str | None:
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_FILE).decode(errors="replace")
    except OSError:
        return None
