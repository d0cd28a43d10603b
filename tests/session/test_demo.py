"""`slash-agent demo`: what a newcomer sees within twenty seconds, with no key and no network."""

import json
import re
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from bot.agent.journal import read_journal
from bot.contracts.journal import DiagnosticsRecord
from tests.session.conftest import Cli, command
from tests.support.machines import without_sandbox
from tests.support.stage import CommandResult, processes_naming

pytestmark = [pytest.mark.bubblewrap, pytest.mark.checkers]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> CommandResult:
    return Cli(tmp_path_factory.mktemp("newcomer"))("demo")


def bundle_of(demo: CommandResult) -> Path:
    found = re.search(r"^  report    (.+)$", demo.out, re.MULTILINE)
    assert found
    return Path(found.group(1)).parent


def test_it_ends_with_pull_request_title_diff_checks_and_report(demo: CommandResult):
    ran = demo
    assert ran.code == 0, ran.output
    tests = "20 of 20 tests pass (1 fixed); with the tests as they were 20 pass"
    headline = f"✔ 3 files changed in a draft pull request, {tests}, $0.03"
    assert headline in ran.out.splitlines()
    assert "slash-agent demo --keep, to see it in a browser" in ran.out
    assert "\nRound durations before splitting them into units\n" in ran.out
    assert "\nFor the reviewer\nRounding stays half-to-even" in ran.out
    assert "+    remaining = round(abs(seconds))" in ran.out
    assert "check     python3 -m unittest: failed (1 of 20), exit 1" in ran.out
    assert re.search(r"^  sandbox   bubblewrap ", ran.out, re.MULTILINE)
    assert ran.err == ""
    assert "<html" in (bundle_of(ran) / "report.html").read_text()


def test_its_evidence_is_a_mended_test_a_fixed_problem_covered_lines_and_an_error_seen_while_editing(
    demo: CommandResult,
):
    bundle = bundle_of(demo)
    outcome = json.loads((bundle / "outcome.json").read_bytes())
    (check,) = outcome["checks"]
    assert [name.rpartition(".")[2] for name in check["tests"]["mended"]] == [
        "test_rounding_carries_into_the_next_unit"
    ]
    assert [(one["tool"], one["rule"]) for one in outcome["denials"]] == [
        ("bash", "rules[0] (.github/agent.yml:7)")
    ]
    told = {one["tool"]: (one["new_count"], one["fixed_count"]) for one in outcome["diagnostics"]}
    assert told == {"ruff": (0, 1), "ty": (0, 0)}
    seen = list(read_journal(bundle / "journal.jsonl").records(DiagnosticsRecord))
    # With the edit, or on a busy machine with the next one.
    assert any(record.new_count == 1 for record in seen)
    assert seen[-1].new_count == 0
    schema = json.loads((ROOT / "docs" / "outcome.schema.json").read_text(encoding="utf-8"))
    assert [error.message for error in Draft202012Validator(schema).iter_errors(outcome)] == []


@pytest.mark.slow
def test_no_key_and_no_actions_around_it_get_in(cli: Cli):
    ran = cli(
        "demo",
        ANTHROPIC_API_KEY="canary-51d0c2aa",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
        GITHUB_TOKEN="canary-51d0c2ab",
        GITHUB_API_URL="http://127.0.0.1:9",
        GITHUB_ACTIONS="true",
        GITHUB_RUN_ID="7",
        SLASH_AGENT_MODEL="anthropic/none",
        GIT_DIR="/nowhere",
    )
    assert ran.code == 0, ran.output
    kept = [file.read_bytes() for file in cli.home.rglob("*") if file.is_file()]
    assert kept
    assert not any(b"canary-51d0c2a" in content for content in kept)


@pytest.mark.slow
def test_without_a_sandbox_it_goes_on_and_says_so(cli: Cli):
    ran = cli("demo", inside=without_sandbox())
    assert ran.code == 0, ran.output
    assert "sandbox   off" in ran.out
    assert "This demo ran without a sandbox: bubblewrap (bwrap) is not installed" in ran.out
    assert "Install one: sudo apt-get install bubblewrap" in ran.out


@pytest.mark.slow
def test_kept_up_it_shows_the_pull_request_until_it_is_interrupted(cli: Cli):
    with subprocess.Popen(
        command("demo", "--keep"),
        env=cli.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if "press Ctrl-C" in line:
                    break
            [pull] = [line.split()[1] for line in lines if line.startswith("  pull ")]
            with urllib.request.urlopen(pull, timeout=120) as page:
                assert b"Round durations before splitting them" in page.read()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=120)
        finally:
            process.kill()
    assert "Traceback" not in errors
    deadline = time.monotonic() + 60
    while processes_naming(str(cli.home)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_naming(str(cli.home)) == []
