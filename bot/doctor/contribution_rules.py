"""Check what a repository demands of each contribution: sign-off, a CLA, titles, locked actions. Read from files of the
checkout and from the names of required checks; nothing is parsed but the lock file, in a child with limits."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bot.doctor.finding import Finding, State
from bot.ecosystems.checker import table
from bot.parsing.parser import ParseError, Parser
from bot.parsing.yaml_document import YamlError, read_yaml
from bot.policy.load import POLICY_FILE
from bot.policy.settings import Policy
from bot.publish.convention.from_files import COMMITLINT, SEMANTIC, WORD
from bot.publish.convention.from_files import read_text as read_conventions

ok = partial(Finding, State.OK)
warning = partial(Finding, State.WARNING)
missing = partial(Finding, State.MISSING)
unknown = partial(Finding, State.UNKNOWN)


WORKFLOWS = ".github/workflows"
LOCK = f"{WORKFLOWS}/actions.lock"
_MAX_FILE = 256 * 1024
_SIGNS_OFF = f"set `pull_request: {{ sign_off: true }}` in {POLICY_FILE}"
_USES = re.compile(r"^[\s-]*uses:\s*['\"]?([\w.-]+/[^\s'\"#]+@[^\s'\"#]+)", re.MULTILINE)
OWN_ACTION = re.compile(
    r"uses:\s*(?:[\w.-]+/slash-agent(?:@|/)|\./\s*$|\./\.github/workflows/agent)", re.MULTILINE
)


class Demand(NamedTuple):
    """`file`, `action` and `check` are patterns of a path, an action that a workflow uses, and a required check, that
    show the demand; `what` imposes it. In `fix`, FILE stands for where it was seen."""

    row: str
    what: str
    file: str = r"(?!)"
    action: str = r"(?!)"
    check: str = r"(?!)"
    fix: str = ""


_EXEMPT = "exempt the account that publishes (`github-actions[bot]`, or your app's): "
DEMANDS = (
    Demand(
        "DCO",
        "a sign-off of each commit",
        file=r"\.github/dco\.ya?ml",
        action=r"[\w.-]+/(?:dco|dco-check|dco-check-action)",
        check=r"\bDCO\b|sign[- ]?off",
        fix=_SIGNS_OFF,
    ),
    Demand(
        "CLA",
        "cla-assistant.io",
        check=r"license/cla",
        fix=f"{_EXEMPT}add it under https://cla-assistant.io, Edit, allowlist; `*[bot]` takes every app",
    ),
    Demand(
        "CLA",
        "a workflow with a CLA action",
        action=r"(?:contributor-assistant|cla-assistant)/github-action",
        check=r"\bCLA ?assistant\b",
        fix=f"{_EXEMPT}add it to `allowlist:` in FILE, as in `allowlist: github-actions[bot]`",
    ),
    Demand(
        "CLA",
        "a CLA",
        file=r"\.clabot",
        check=r"easy ?cla|cla/google|google-?cla|\bcla: ?yes\b|cla-signed|\bclabot\b",
        fix=f"{_EXEMPT}have it added to the list of signers; else a person pushes the branch",
    ),
    Demand(
        "titles",
        "a convention for titles or commit messages",
        check=r"semantic|commitlint|conventional|\b(?:pr|pull request)[- ]title",
    ),
)


def file_demands(root: Path, policy: Policy) -> list[Finding]:
    """Return a finding for each demand that files of the checkout show, and on the lock file of its actions."""
    allowed = re.compile(r"allow-?list:.*(?:\[bot\]|\bbot\*|github-actions)", re.IGNORECASE)
    workflows = dict(texts(root, f"{WORKFLOWS}/*.y*ml"))
    paths = [".clabot", *(f".github/{path.name}" for path in (root / ".github").glob("*.y*ml"))]
    paths = [path for path in paths if (root / path).exists()]
    findings = []
    for demand in DEMANDS:
        uses = re.compile(rf"uses:\s*['\"]?{demand.action}(?:@|/)")
        evidence_files = [
            *filter(re.compile(demand.file).fullmatch, paths),
            *(path for path in workflows if uses.search(workflows[path])),
        ]
        if evidence_files:
            exempt = any(allowed.search(workflows.get(path, "")) for path in evidence_files)
            findings.append(_finding(demand, evidence_files[0], policy, exempt=exempt))
    return [*findings, *_titles(root, workflows), *_locked(root, workflows)]


def check_demands(checks: Collection[str], policy: Policy, known: Collection[str] = ()) -> list[Finding]:
    """Return a finding for each demand that a required check of the base branch shows; `known` are the names of
    findings that there are already."""
    findings = []
    for demand in DEMANDS:
        name = next((check for check in checks if re.search(demand.check, check, re.IGNORECASE)), "")
        if name and demand.row not in known:
            findings.append(_finding(demand, f"the required check {name!a}", policy, required=True))
    return findings


def _finding(
    demand: Demand, where: str, policy: Policy, *, required: bool = False, exempt: bool = False
) -> Finding:
    message = f"{demand.what[0].upper()}{demand.what[1:]} is demanded here: {where}."
    if demand.fix == _SIGNS_OFF and policy.pull_request.sign_off:
        return ok(demand.row, f"{message} The bot signs off.")
    if not demand.fix:
        return ok(demand.row, f"{message} The bot's titles and messages follow the repository's.")
    if exempt:
        return ok(demand.row, f"{message} Its list of exemptions has bots.")
    return (missing if required else warning)(demand.row, message, demand.fix.replace("FILE", where))


def texts(root: Path, pattern: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that matches."""
    for file in sorted(root.glob(pattern)):
        text = read_text(file)
        if text is not None:
            yield str(file.relative_to(root)), text


def read_text(file: Path) -> str | None:
    """Return the first 256 KiB of a file, or `None` if it cannot be read."""
    try:
        with file.open("rb") as opened:
            return opened.read(_MAX_FILE).decode(errors="replace")
    except OSError:
        return None


def _titles(root: Path, workflows: Mapping[str, str]) -> Iterator[Finding]:
    """Read the convention for titles as a run does, which follows it."""
    sources = {path: text for path, text in workflows.items() if WORD.search(text)}
    for pattern in ("*commitlint*", ".config/*commitlint*", ".github/semantic.y*ml"):
        matching = texts(root, pattern)
        sources |= {
            path: text for path, text in matching if COMMITLINT.fullmatch(path) or SEMANTIC.fullmatch(path)
        }
    if not sources:
        return
    try:
        with Parser() as parser:
            conventions, problems = parser.parse(read_conventions, json.dumps(sources))
    except ParseError as error:
        conventions, problems = [], [f"The convention for titles is not read: {error}."]
    if conventions:
        files = ", ".join(dict.fromkeys(str(one["source"]) for one in conventions))
        yield ok("titles", f"{files} has a convention for titles. The bot's titles and messages follow it.")
    for problem in problems:
        yield warning(
            "titles", problem, "write the convention as YAML or JSON, or correct the bot's titles by hand"
        )


def _locked(root: Path, workflows: Mapping[str, str]) -> Iterator[Finding]:
    """Compare the workflows that run our action with the lock file: GitHub starts none that lists another action."""
    text = read_text(root / LOCK)
    if text is None:
        return
    fix = "gh extension install github/gh-actions-lock\ngh actions-lock"
    try:
        entries = table(read_yaml(text).value, "workflows").items()
    except YamlError as error:
        yield warning("actions.lock", f"{LOCK}:{error.problem.line}: {error}; so it was not compared.", fix)
        return
    locked = {path: {str(one).lower() for one in actions} for path, actions in entries}
    own = {path: text for path, text in workflows.items() if OWN_ACTION.search(text)}
    loose = [path for path in own if path not in locked]
    wrong: dict[str, list[str]] = {}
    for path in own.keys() & locked.keys():
        for use in dict.fromkeys(_USES.findall(own[path])):
            name, _, ref = use.lower().partition("@")
            repository = f"{'/'.join(name.split('/')[:2])}@{ref}"  # the lock file may name an action by it
            if f"/{WORKFLOWS}/" not in use and not {use.lower(), repository} & locked[path]:
                wrong.setdefault(path, []).append(use)
    for path, actions in sorted(wrong.items()):
        message = f"{LOCK} lists {path} without {', '.join(actions)}: GitHub does not start that workflow."
        yield missing("actions.lock", message, fix)
    if loose:
        yield warning(
            "actions.lock", f"{LOCK} does not list {', '.join(loose)}: its actions are not locked.", fix
        )
    elif own and not wrong:
        yield ok("actions.lock", f"{LOCK} has the actions of {', '.join(own)}.")
