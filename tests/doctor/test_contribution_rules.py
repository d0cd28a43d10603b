"""What a repository demands of contributions, as its files and its required checks show it."""

from pathlib import Path

import pytest

from bot.doctor.contribution_rules import LOCK, check_demands, file_demands
from bot.doctor.finding import Finding, State
from bot.policy.load import load_policy
from tests.support.files import write_files

AGENT = ".github/workflows/agent.yml"
CI = ".github/workflows/ci.yml"
OURS = """\
jobs:
  agent:
    steps:
      - uses: actions/checkout@v6
      - uses: slash-agent/slash-agent@v0 # zizmor: ignore[unpinned-uses]
      - uses: "Actions/Cache/restore@v5"
  tasks:
    uses: slash-agent/slash-agent/.github/workflows/maintenance.yml@v0
"""
LOCKED = """\
version: 'v0.0.2'
workflows:
    '.github/workflows/agent.yml':
        - 'actions/cache@v5'
        - 'actions/checkout@v6'
        - 'slash-agent/slash-agent@v0'
"""
SIGNS_OFF = "pull_request: {sign_off: true}\n"
ALLOWS = "        with: {allowlist: 'ann,bot*'}\n"
OK, WARNING, MISSING = State.OK, State.WARNING, State.MISSING


def write(root: Path, files: dict[str, str]) -> Path:
    write_files(root, files)
    return root


def uses(action: str, more: str = "") -> dict[str, str]:
    return {CI: f"jobs:\n  a:\n    steps:\n      - uses: {action}@v1\n{more}"}


@pytest.mark.parametrize(
    ("files", "policy", "row", "state", "words"),
    [
        ({".github/dco.yml": "require: {members: false}"}, "", "DCO", WARNING, "sign_off: true"),
        ({".github/dco.yml": ""}, SIGNS_OFF, "DCO", OK, "The bot signs off"),
        (uses("tim-actions/dco"), "", "DCO", WARNING, CI),
        (uses("contributor-assistant/github-action"), "", "CLA", WARNING, f"`allowlist:` in {CI}"),
        (uses("contributor-assistant/github-action", ALLOWS), "", "CLA", OK, "has bots"),
        ({".clabot": "{}"}, "", "CLA", WARNING, "list of signers"),
        (uses("amannn/action-semantic-pull-request"), "", "titles", OK, CI),
        ({".github/semantic.yml": "types: [feat]"}, "", "titles", OK, ".github/semantic.yml"),
        ({"commitlint.config.js": "x = {extends: ['y']}"}, "", "titles", OK, "commitlint.config.js"),
        ({".commitlintrc.json": "{}"}, "", "titles", OK, ".commitlintrc.json"),
        ({"commitlint.config.js": "module.exports = rules()"}, "", "titles", WARNING, "exports no object"),
        ({LOCK: LOCKED, AGENT: OURS}, "", "actions.lock", OK, AGENT),
        ({LOCK: LOCKED.replace("v6", "v5"), AGENT: OURS}, "", "actions.lock", MISSING, "without actions/checkout@v6:"),
        ({LOCK: "version: 1\nworkflows: {}\n", AGENT: OURS}, "", "actions.lock", WARNING, "gh actions-lock"),
        ({LOCK: "workflows: [", AGENT: OURS}, "", "actions.lock", WARNING, f"{LOCK}:2: not YAML"),
        ({LOCK: "- a\n", AGENT: OURS}, "", "actions.lock", WARNING, "does not list"),
    ],
)  # fmt: skip
def test_a_demand_in_a_file_is_a_row_with_its_fix(
    tmp_path: Path, files: dict[str, str], policy: str, row: str, state: State, words: str
):
    [finding] = file_demands(write(tmp_path, files), load_policy(policy))
    assert (finding.name, finding.state) == (row, state)
    assert words in f"{finding.message} {finding.fix}"
    assert bool(finding.fix) is (state is not OK)


@pytest.mark.parametrize(
    "files", [{}, {LOCK: LOCKED}, {CI: "uses: actions/checkout@v6\n"}, {"src/.clabot": ""}]
)
def test_without_a_demand_there_is_no_row(tmp_path: Path, files: dict[str, str]):
    assert file_demands(write(tmp_path, files), load_policy("")) == []


@pytest.mark.parametrize(
    ("check", "row", "words"),
    [
        ("DCO", "DCO", "sign_off: true"),
        ("license/cla", "CLA", "cla-assistant.io"),
        ("EasyCLA", "CLA", "list of signers"),
        ("cla/google", "CLA", "list of signers"),
        ("CLA Assistant Lite", "CLA", "`allowlist:`"),
        ("verification/cla-signed", "CLA", "list of signers"),
    ],
)
def test_a_required_check_that_the_bot_would_fail_is_missing_its_fix(check: str, row: str, words: str):
    [finding] = check_demands(("ci", check), load_policy(""))
    assert (finding.name, finding.state) == (row, MISSING)
    assert words in finding.fix
    assert f"the required check '{check}'" in finding.message
    assert check_demands((check,), load_policy(""), known=[row]) == []


@pytest.mark.parametrize(
    ("check", "findings"),
    [
        ("DCO", ["DCO"]),
        ("Semantic PR", ["titles"]),
        ("Lint PR title", ["titles"]),
        ("unit tests", []),
        ("decoder", []),
    ],
)
def test_what_the_bot_does_by_itself_is_well(check: str, findings: list[str]):
    rows: list[Finding] = check_demands((check,), load_policy(SIGNS_OFF))
    assert [one.name for one in rows] == findings
    assert {one.state for one in rows} <= {OK}
