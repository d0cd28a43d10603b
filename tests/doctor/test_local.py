import json
import os
import re
import subprocess
from datetime import date
from pathlib import Path

import pytest

from bot.doctor.finding import Finding, State
from bot.doctor.local import check_local, check_maintenance, check_workflow, leftovers, models, sandbox
from bot.workspace.sandbox.backends import bubblewrap
from bot.workspace.sandbox.remedies import remedy
from tests.support.files import write_file
from tests.support.model_script import Raw, Status
from tests.support.model_server import ModelServer
from tests.support.repositories import sample_repository

NOBODY = {"PATH": os.environ["PATH"]}


def of(findings: list[Finding], name: str) -> Finding:
    [found] = [finding for finding in findings if finding.name == name]
    return found


@pytest.mark.bubblewrap
def test_a_sandbox_that_holds_is_said_with_its_name():
    [found] = sandbox()
    assert (found.state, found.fix) == (State.OK, "")
    assert re.fullmatch(
        r"bubblewrap [\d.]+, 15 of 15 canaries out of reach\. Tier T1; kernel .*", found.message
    )
    assert ("opens a socket" in found.message) is not bubblewrap().overlays
    _, *canaries = sandbox(verbose=True)
    assert len(canaries) == 15
    assert {canary.state for canary in canaries} == {State.OK}


def managers(folder: Path, *names: str) -> str:
    """A PATH with these programs, none of which does anything."""
    for name in names:
        write_file(folder / name, "#!/bin/sh\n", 0o755)
    return str(folder)


@pytest.mark.parametrize(
    ("switch", "value", "fix"),
    [
        ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "sudo apparmor_parser -r"),
        ("kernel/other", "1", "--unshare-all"),
    ],
)
def test_what_keeps_bubblewrap_from_working_has_its_own_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: str, value: str, fix: str
):
    monkeypatch.setenv("PATH", managers(tmp_path, "bwrap"))
    write_file(tmp_path / switch, f"{value}\n")
    assert fix in remedy(tmp_path)


def test_the_profile_that_is_told_is_the_one_that_the_action_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", f"{managers(tmp_path, 'bwrap')}:{os.environ['PATH']}")
    write_file(tmp_path / "kernel" / "apparmor_restrict_unprivileged_userns", "1\n")
    write, load = remedy(tmp_path).splitlines()
    profile = tmp_path / "profile"
    done = subprocess.run(
        ["sh", "-c", write.replace("sudo tee /etc/apparmor.d/slash-agent-bwrap", f"tee {profile}")],
        env={"PATH": os.environ["PATH"] if "/bin" in os.environ["PATH"] else "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL, check=True,
    )  # fmt: skip
    assert done.returncode == 0
    action = (Path(__file__).parents[2] / ".github" / "action" / "setup-sandbox").read_text()
    [ours] = re.findall(r"<<'PROFILE'\n(.*?)\nPROFILE", action, re.DOTALL)
    assert profile.read_text().split() == ours.replace("/usr/bin/bwrap", f"{tmp_path}/bwrap").split()
    assert load == "sudo apparmor_parser -r /etc/apparmor.d/slash-agent-bwrap"


def test_without_bubblewrap_the_fix_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", managers(tmp_path, "apt-get"))
    found, note = sandbox()
    assert (found.state, note.state) == (State.OK, State.WARNING)
    assert "Tier T2" in found.message
    assert "not installed" in note.message
    assert note.fix == "sudo apt-get install bubblewrap"


def test_where_nothing_holds_that_is_missing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bot.workspace.sandbox.backends.version", lambda: 0)
    monkeypatch.setenv("PATH", "/nonexistent")
    [found] = sandbox()
    assert found.state is State.MISSING
    assert "not installed" in found.message
    assert "has no Landlock" in found.message
    assert "bubblewrap" in found.fix


def test_no_key_at_all_is_one_finding():
    [found] = models(NOBODY)
    assert found.state is State.MISSING
    assert "ANTHROPIC_API_KEY or OPENAI_API_KEY" in found.fix


def test_a_provider_that_answers_is_asked_for_no_tokens():
    """404: a server of one's own need not list its models."""
    with ModelServer([Status(404), Status(404)]) as server:
        found = models(NOBODY | server.environment())
        assert {finding.state for finding in found} == {State.OK}
        assert [request.path for request in server.requests] == ["/v1/models?limit=1000", "/v1/models"]


@pytest.mark.parametrize(
    ("model", "row", "state", "words"),
    [
        ("anthropic/claude-x", {"retires_at": "2027-01-22T00:00:00Z"}, State.WARNING, "2027-01-22, in 56 days"),
        ("anthropic/claude-x", {"retires_at": "2027-01-27T00:00:00Z"}, None, ""),
        ("anthropic/claude-x", {"retires_at": None, "lifecycle": "active"}, None, ""),
        ("anthropic/claude-x", {"lifecycle": "retired"}, State.MISSING, "has ended"),
        ("anthropic/claude-sonnet-4-5", {"lifecycle": "deprecated"}, State.WARNING, "2026-11-30, in 3 days"),
        ("openai/gpt-5", {"shutdown_date": "2026-12-11"}, State.WARNING, "2026-12-11, in 14 days"),
        ("openai-responses/gpt-5", {"shutdown_date": "2026-11-27"}, State.MISSING, "has ended"),
        ("openai/gpt-x", {"shutdown_date": "soon"}, None, ""),
        ("anthropic/claude-sonnet-5-5", {"max_input_tokens": 200_000}, State.WARNING, "window of 200,000 tokens"),
        ("anthropic/claude-sonnet-5-5", {"max_input_tokens": 1_000_000}, None, ""),
    ],
)  # fmt: skip
def test_the_end_and_the_window_of_a_model_that_is_used_are_read_from_the_vendors_list(
    model: str, row: dict[str, object], state: State | None, words: str
):
    name = model.partition("/")[2]
    listed = json.dumps({"data": [{"id": "another"}, {"id": f"{name}-20250929", **row}, 7]}).encode()
    with ModelServer(lambda _: Raw(listed, "application/json")) as server:
        found = models(NOBODY | server.environment(), (model,), date(2026, 11, 27))
    own = [finding for finding in found if finding.name == f"model, {model}"]
    assert [finding.state for finding in own] == ([state] if state else [])
    assert all(words in finding.message and finding.fix for finding in own)


def test_models_of_the_policy_and_the_default_one_are_looked_up(tmp_path: Path):
    root = sample_repository(tmp_path / "tidytime")
    (root / ".github").mkdir(exist_ok=True)
    text = "version: 1\nmodel_settings: {tasks: {deps: {fallback: [openai/gpt-5]}}}\n"
    (root / ".github" / "agent.yml").write_text(text)
    row = {"id": "claude-sonnet-5-5", "lifecycle": "retired"}
    ends = {"id": "gpt-5", "shutdown_date": "2026-11-01"}
    listed = json.dumps({"data": [row, ends]}).encode()
    with ModelServer(lambda _: Raw(listed, "application/json")) as server:
        found = check_local(root, NOBODY | server.environment())
    ended = [finding.name for finding in found if "has ended" in finding.message]
    assert ended == ["model, anthropic/claude-sonnet-5-5", "model, openai/gpt-5"]


def test_every_place_that_has_a_key_is_asked_with_it():
    with ModelServer(lambda _: Status(404)) as server:
        environment = {
            "OLLAMA_BASE_URL": server.url,
            "GEMINI_BASE_URL": f"{server.url}/v1beta/openai",
            "GEMINI_API_KEY": "the-key",
        }
        found = models(NOBODY | environment)
        assert [finding.name for finding in found] == ["model, gemini", "model, ollama"]
        assert [request.path for request in server.requests] == ["/v1beta/openai/models", "/v1/models"]
        assert server.requests[0].headers["authorization"] == "Bearer the-key"


@pytest.mark.parametrize(
    ("code", "fix"), [(401, "check the key"), (403, "check the key"), (503, "check the address")]
)
def test_a_refused_key_and_a_server_in_trouble_are_told_apart(code: int, fix: str):
    with ModelServer([Status(code), Status(code)]) as server:
        found = models(NOBODY | server.environment())
    assert {finding.state for finding in found} == {State.MISSING}
    assert all(finding.fix.startswith(fix) for finding in found)


def test_a_provider_that_is_not_there_is_missing():
    with ModelServer([]) as server:
        environment = NOBODY | server.environment()
    found = models(environment)
    assert {finding.state for finding in found} == {State.MISSING}
    assert all("cannot be reached" in finding.message for finding in found)


def test_a_sound_checkout_has_nothing_missing_but_what_is_not_there(tmp_path: Path):
    root = sample_repository(tmp_path / "tidytime")
    found = check_local(root, NOBODY)
    assert of(found, "policy").state is State.OK
    checks = of(found, "checks")
    assert (checks.state, checks.message) == (
        State.UNKNOWN,
        "The policy names `python3 -m unittest`; not tried.",
    )
    assert of(found, "workflow").state is State.MISSING


def test_a_policy_with_a_mistake_is_named_with_its_line(tmp_path: Path):
    root = sample_repository(tmp_path / "tidytime")
    (root / ".github" / "agent.yml").write_text("chekcs: []\n")
    found = check_local(root, NOBODY)
    assert of(found, "policy").state is State.MISSING
    assert ".github/agent.yml:1:1: unknown key `chekcs`" in of(found, "policy").message
    assert not [finding for finding in found if finding.name == "checks"]


def test_checks_that_the_files_suggest_are_named(tmp_path: Path):
    (tmp_path / "go.mod").write_text("module x\n")
    said = of(check_local(tmp_path, NOBODY), "checks").message
    assert said == "The policy names none; detected `go test ./...`; not tried."


@pytest.mark.parametrize("uses", ["slash-agent/slash-agent@v0", "acme/slash-agent@0123", "./"])
def test_a_workflow_that_runs_the_action_is_found(tmp_path: Path, uses: str):
    folder = tmp_path / ".github" / "workflows"
    write_file(folder / "other.yml", "on: push\n")
    assert check_workflow(tmp_path).state is State.MISSING
    text = f"jobs:\n  a:\n    if: contains(github.event.comment.body, '/agent')\n    steps:\n      - uses: {uses}\n"
    (folder / "bot.yaml").write_text(text)
    assert check_workflow(tmp_path).message == ".github/workflows/bot.yaml runs the action."


@pytest.mark.parametrize(
    "runs",
    [
        "    uses: slash-agent/slash-agent/.github/workflows/maintenance.yml@v0\n",
        "      - uses: slash-agent/slash-agent@v0\n        with:\n          mode: plan\n",
        "      - uses: slash-agent/slash-agent@v0\n        with:\n          task: dead-links\n",
    ],
)
def test_tasks_that_no_workflow_runs_are_said(tmp_path: Path, runs: str):
    tasks, workflows = tmp_path / ".github" / "agent", tmp_path / ".github" / "workflows"
    write_file(tasks / "README.md", "What these are.")
    assert check_maintenance(tmp_path) == []
    (tasks / "dead-links.md").write_text("Mend dead links.")
    write_file(workflows / "agent.yml", "jobs:\n  agent:\n    uses: slash-agent/slash-agent@v0\n")
    [found] = check_maintenance(tmp_path)
    assert found.state is State.WARNING
    assert found.fix == "slash-agent init --tasks writes one"
    (workflows / "night.yml").write_text(f"jobs:\n  night:\n{runs}")
    [found] = check_maintenance(tmp_path)
    assert (found.state, found.message) == (State.OK, ".github/workflows/night.yml runs tasks.")


def test_credentials_that_were_left_behind_are_named(tmp_path: Path):
    write_file(tmp_path / ".git" / "config", "[http]\n\textraheader = AUTHORIZATION: basic Y2FuYXJ5\n")
    (found,) = leftovers(tmp_path, {})
    assert (found.name, found.state) == ("credentials", State.WARNING)
    assert "persist-credentials: false" in found.fix and "Y2FuYXJ5" not in found.message
