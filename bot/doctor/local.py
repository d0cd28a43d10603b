"""Check the checkout and this machine: sandbox, model, policy, checks, workflows."""

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path

from bot.checkout.leftover_credentials import FIX, find_leftover_credentials
from bot.contracts.errors import AgentError, NoSandboxError
from bot.doctor.contribution_rules import (
    OWN_ACTION,
    WORKFLOWS,
    file_demands,
    missing,
    ok,
    read_text,
    texts,
    unknown,
    warning,
)
from bot.doctor.finding import Finding, State
from bot.ecosystems.record import guarded_folder
from bot.ecosystems.registry import ecosystems
from bot.environment.detect import detect
from bot.environment.detection_result import Detection
from bot.maintenance.task import FOLDER, is_task_file
from bot.policy.load import POLICY_FILE, load_policy
from bot.policy.settings import Policy
from bot.providers.connect import default_model
from bot.providers.models import end_of, listed_name, model_info
from bot.providers.probe import PROBED_PROVIDERS, ListedModel, has_key, probe_provider
from bot.workspace.probe import choose
from bot.workspace.sandbox.remedies import remedy

_MOST_FILES = 50_000
_WARN_DAYS = 60
_NOT_SOURCE = {".git", *(name for one in ecosystems() for name in one.folders)}
# The called workflow, the mode in which the action plans, or a step that runs one task.
_RUNS_TASKS = re.compile(
    r"slash-agent/\.github/workflows/maintenance\.yml|^\s*(?:mode:\s*plan|task:\s*\S)", re.MULTILINE
)


def check_local(root: Path, environment: Mapping[str, str], *, verbose: bool = False) -> list[Finding]:
    """`root` is the checkout. Starts a sandbox, and asks each provider that has a key for its models."""
    loaded, policy = checkout_policy(root)
    used = loaded.model_names
    if not loaded.model:
        with suppress(AgentError):  # there is no key, which has a finding of its own
            used = (default_model(environment), *used)
    return [
        *sandbox(verbose=verbose),
        *models(environment, used),
        policy,
        *([] if policy.state is State.MISSING else _checks(root, loaded, environment)),
        check_workflow(root),
        *file_demands(root, loaded),
        *check_maintenance(root),
        *leftovers(root, environment),
    ]


def sandbox(*, verbose: bool = False) -> list[Finding]:
    """Return the sandbox that a run would get, and why not a better one. A canary gets its own line only if it was
    reached, or with `verbose`."""
    name = "sandbox"
    try:
        chosen = choose("auto")
    except NoSandboxError as error:
        return [missing(name, str(error), remedy())]
    wall, confinement = chosen.sandbox_probe, chosen.confinement
    reached, message = any(canary.inside for canary in wall.canaries), wall.described
    unreached = ("closed on this machine, to everybody", "reached without a sandbox, not from inside")
    if confinement.moves and not confinement.severs:
        message += (
            " Commands can connect to a program outside that opens a socket in a folder of tools; bubblewrap 0.11 "
            "prevents that."
        )
    return [
        (warning if reached else ok)(name, message),
        *(warning(name, note, remedy()) for note in wall.notes),
        *(
            warning(f"{name}: {canary.name}", "reached from inside")
            if canary.inside
            else ok(f"{name}: {canary.name}", unreached[canary.outside])
            for canary in wall.canaries
            if verbose or canary.inside
        ),
    ]


def models(
    environment: Mapping[str, str], used: Sequence[str] = (), today: date | None = None
) -> list[Finding]:
    """One finding for each provider that has a key or an address, one for all where none has, and those on the models
    that are `used`."""
    findings = []
    for provider in PROBED_PROVIDERS:
        if has_key(provider, environment):
            result = probe_provider(provider, environment)
            fix = "check the key" if result.reached else "check the address and the proxy"
            row = (f"model, {provider}", result.message)
            findings.append(ok(*row) if result.key_accepted else missing(*row, fix))
            own = (model for model in used if model.partition("/")[0].removesuffix("-responses") == provider)
            at = today or datetime.now(UTC).date()
            findings += [finding for model in own for finding in _model(model, result.models, at)]
    fix = "set ANTHROPIC_API_KEY or OPENAI_API_KEY; in Actions give the action its input from a secret"
    return findings or [missing("model", "There is no key for a model here.", fix)]


def _model(model: str, listed: Sequence[ListedModel], today: date) -> list[Finding]:
    """Return findings on the end and the window of a model, by its vendor's list, else by our table."""
    provider, _, name = model.partition("/")
    alike = (row for row in listed if listed_name(row.name) == listed_name(name))
    row = min(alike, key=lambda row: row.name != name, default=None)
    known = end_of(name)
    end = row.end if row and row.end else (known.day if known else None)
    fix = f"use {provider}/{known.instead}" if known else "choose another model: docs/models.md"
    findings = []
    if (row and row.is_ended) or (end and end <= today):
        findings.append(missing(f"model, {model}", f"{model} has ended.", fix))
    elif end and (end - today).days <= _WARN_DAYS:
        message = f"{model} ends on {end}, in {(end - today).days} days."
        findings.append(warning(f"model, {model}", message, fix))
    info = model_info(name)
    if row and info.known and 0 < row.window < info.context_window:
        message = (
            f"{model} has a window of {row.window:,} tokens here, and {info.context_window:,} are assumed."
        )
        fix = f"set `models: {{{model}: {{window: {row.window}}}}}` in {POLICY_FILE}"
        findings.append(warning(f"model, {model}", message, fix))
    return findings


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


def leftovers(root: Path, environment: Mapping[str, str]) -> list[Finding]:
    """Report credentials that earlier steps of a job left in files."""
    message = find_leftover_credentials(root, environment)
    return [warning("credentials", " ".join(message), FIX)] if message else []


def detect_environment(root: Path, environment: Mapping[str, str]) -> Detection:
    """How the checkout is checked, by its files, and the setup that it lacks: none where an environment is there."""
    detected = detect(_paths(root), lambda path: read_text(root / path))
    has_python = bool(environment.get("VIRTUAL_ENV") or environment.get("CONDA_PREFIX"))
    steps = (step for step in detected.setup if not (has_python and "python" in step.egress))
    lacking = (
        step for step in steps if not (folder := guarded_folder(step.command)) or not (root / folder).is_dir()
    )
    return detected._replace(setup=tuple(lacking))


def checkout_policy(root: Path) -> tuple[Policy, Finding]:
    """Return the policy of the checkout, the built-in one if it cannot be read, and what is wrong with it."""
    text = read_text(root / POLICY_FILE)
    none = f"There is no {POLICY_FILE}, so the built-in policy holds."
    try:
        return load_policy(text), ok("policy", none if text is None else f"{POLICY_FILE} has no problems.")
    except AgentError as error:
        return load_policy(None), missing("policy", str(error), f"slash-agent policy check {POLICY_FILE}")


def _checks(root: Path, policy: Policy, environment: Mapping[str, str]) -> list[Finding]:
    if policy.checks:
        named = ", ".join(f"`{check.command}`" for check in policy.checks)
        return [unknown("checks", f"The policy names {named}; not tried.")]
    detected = detect_environment(root, environment)
    fix = f"name the checks under `checks:` in {POLICY_FILE}"
    first = warning("checks", "No check was found: a pull request will carry no evidence.", fix)
    if detected.checks:
        named = ", ".join(f"`{check.name}`" for check in detected.checks)
        first = unknown("checks", f"The policy names none; detected {named}; not tried.")
    return [first, *(warning("checks", f"{one.what}: {one.reason}.", fix) for one in detected.unread)]


def _paths(root: Path) -> list[str]:
    paths: list[str] = []
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _NOT_SOURCE]
        paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
        if len(paths) > _MOST_FILES:
            break
    return paths
