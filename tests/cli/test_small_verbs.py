"""`tool`, `policy`, `report`, `salvage` and `publish`, as a person types them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from bot.session.demo.demo import RECORDING
from tests.cli.test_command_line import warm_cli as cli
from tests.support.repositories import git, sample_repository
from tests.support.stage import CommandResult

POLICY = """\
version: 1
rules:
  - effect: deny
    paths: ['docs/**']
    reason: the docs are generated
checks:
  - name: tests
    command: make test
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return sample_repository(tmp_path / "tidytime")


def assert_one_sentence(ran: CommandResult, code: int, said: str) -> None:
    assert ran.code == code, ran.output
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.output


# -- tool


@pytest.mark.bubblewrap
def test_a_tools_result_is_one_line_of_json(repo: Path) -> None:
    ran = cli("tool", "grep", '{"pattern": "def format_duration"}', "--root", repo)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 1
    assert set(ran.json) == {"content", "is_error", "metadata"}
    assert ran.json["is_error"] is False
    assert "tidytime/format.py" in ran.json["content"]


@pytest.mark.bubblewrap
def test_no_command_of_a_single_call_changes_the_git_directory(repo: Path) -> None:
    """In words that the list of dangerous commands does not know."""
    command = "find . -delete; python3 -c 'import shutil; shutil.rmtree(\".git\", True)'"
    command = f"{command}; echo x > .git/HEAD; git status"
    ran = cli("tool", "bash", json.dumps({"command": command}), "--root", repo)
    assert ran.code == 0, ran.err
    assert "Read-only file system" in ran.json["content"]
    assert "deleted:    README.md" in ran.json["content"]
    assert not (repo / "README.md").exists()
    assert git(repo, "rev-list", "--count", "HEAD") == "1"


@pytest.mark.bubblewrap
@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("view", {"path": "nowhere.py"}, "nowhere.py"),
        ("veiw", {"path": "README.md"}, "view"),
        ("view", {}, "path"),
    ],
)
def test_an_error_result_is_json_as_well_and_exits_with_nought(
    repo: Path, tool: str, arguments: dict[str, str], said: str
) -> None:
    ran = cli("tool", tool, json.dumps(arguments), "--root", repo)
    assert ran.code == 0
    assert ran.json["is_error"] is True
    assert said in ran.json["content"]


@pytest.mark.bubblewrap
def test_a_tool_s_result_shows_no_secret_of_the_environment(repo: Path) -> None:
    ran = cli(
        "tool",
        "bash",
        '{"command": "echo Zq8vT2rWx5Ky7Lm3Nb4P"}',
        "--root",
        repo,
        FORGE_TOKEN="Zq8vT2rWx5Ky7Lm3Nb4P",
    )
    assert "Ky7Lm3Nb4P" not in ran.output
    assert ran.json["content"].startswith("[redacted FORGE_TOKEN]\n")


@pytest.mark.bubblewrap
def test_arguments_that_are_no_json_are_an_error_result(repo: Path) -> None:
    ran = cli("tool", "view", "{path:", "--root", repo)
    assert ran.code == 0
    assert ran.json["is_error"] is True


@pytest.mark.bubblewrap
def test_the_list_and_the_skills_can_be_tried_too_and_what_follows_is_shown(repo: Path) -> None:
    items = {"items": [{"text": "look", "status": "in_progress"}]}
    assert "look" in cli("tool", "todo", json.dumps(items), "--root", repo).json["content"]
    loaded = cli("tool", "skill", '{"command": "write-tests"}', "--root", repo)
    assert loaded.json["content"] == "Loaded the skill write-tests; its instructions follow."
    [body] = loaded.json["follows"]
    assert body.startswith('<skill-loaded name="write-tests" folder="/run/slash-agent/skills/write-tests">')


@pytest.mark.bubblewrap
def test_what_hands_over_to_a_run_cannot_be_tried_without_one(repo: Path) -> None:
    ran = cli("tool", "task", "{}", "--root", repo)
    assert ran.json["is_error"]
    assert "todo" in ran.json["content"]


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_an_edit_needs_a_file_that_was_read_unless_told_otherwise(repo: Path) -> None:
    arguments = json.dumps({"path": "README.md", "old": "# tidytime", "new": "# Tidy time"})
    refused = cli("tool", "edit", arguments, "--root", repo)
    assert refused.json["is_error"] is True
    done = cli("tool", "edit", arguments, "--root", repo, "--assume-read")
    assert done.json["is_error"] is False, done.json
    assert (repo / "README.md").read_text().startswith("# Tidy time")


@pytest.mark.bubblewrap
def test_a_tool_runs_under_the_policy_it_is_given(repo: Path, tmp_path: Path) -> None:
    policy = tmp_path / "agent.yml"
    policy.write_text(POLICY)
    ran = cli("tool", "write", '{"path": "docs/a.md", "content": "x"}', "--root", repo, "--policy", policy)
    assert ran.json["is_error"] is True
    assert "the docs are generated" in ran.json["content"]
    assert not (repo / "docs").exists()


def test_a_tool_without_a_folder_is_a_mistake(tmp_path: Path) -> None:
    assert_one_sentence(cli("tool", "ls", "{}", "--root", tmp_path / "no"), 2, "There is no folder")


def test_a_tool_with_a_policy_that_is_not_there_is_a_mistake(tmp_path: Path) -> None:
    ran = cli("tool", "ls", "{}", "--root", tmp_path, "--policy", tmp_path / "no.yml")
    assert_one_sentence(ran, 2, "no.yml cannot be read")


# -- policy


def test_a_policy_without_problems_says_so(tmp_path: Path) -> None:
    (tmp_path / "agent.yml").write_text(POLICY)
    ran = cli("policy", "check", "agent.yml", cwd=tmp_path)
    assert ran == CommandResult(0, "agent.yml: 1 rule, 1 check, no problems\n", "")


def test_a_policy_with_a_problem_names_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "agent.yml").write_text(POLICY.replace("command:", "comand:"))
    ran = cli("policy", "check", "agent.yml", cwd=tmp_path)
    assert ran.code == 2
    assert "agent.yml:8:5" in ran.err
    assert "command" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"\xff\xfe", "cannot be read"), (b"a: [", "not YAML"), (b"- 1\n", "agent.yml:1")],
)
def test_a_policy_that_is_no_policy_is_one_sentence(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "agent.yml").write_bytes(content)
    assert_one_sentence(cli("policy", "check", tmp_path / "agent.yml"), 2, said)


def test_a_policy_that_is_not_there_is_a_mistake_where_it_was_named(tmp_path: Path) -> None:
    assert_one_sentence(cli("policy", "check", tmp_path / "no.yml"), 2, "There is no file")


def test_a_repository_without_a_policy_has_the_built_in_one(tmp_path: Path) -> None:
    ran = cli("policy", "explain", "--tier", "maintainer", "bash", '{"command": "ls"}', cwd=tmp_path)
    assert ran.code == 0
    assert ran.out.startswith("allow: ")


def test_a_check_of_a_policy_that_is_not_there_says_which_one_holds(tmp_path: Path) -> None:
    ran = cli("policy", "check", cwd=tmp_path)
    assert ran == CommandResult(0, "There is no .github/agent.yml here, so the built-in policy holds.\n", "")


def test_explain_names_the_rule_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "agent.yml").write_text(POLICY)
    ran = cli(
        "policy", "explain", "--file", "agent.yml", "--tier", "maintainer", "--json", "write",
        '{"path": "docs/a.md", "content": ""}', cwd=tmp_path,
    )  # fmt: skip
    assert ran.code == 0
    assert ran.json["decision"] == "deny"
    assert ran.json["reason"] == "the docs are generated"
    assert "agent.yml:3" in ran.json["rule"]


@pytest.mark.parametrize(("arguments", "said"), [("{", "are not JSON"), ("[]", "must be a JSON object")])
def test_explain_wants_an_object(tmp_path: Path, arguments: str, said: str) -> None:
    ran = cli("policy", "explain", "--tier", "local", "bash", arguments, cwd=tmp_path)
    assert_one_sentence(ran, 2, said)


# -- report


def test_a_report_is_a_page_of_its_own(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    ran = cli("report", RECORDING, "-o", page)
    assert ran == CommandResult(0, f"{page}\n", "")
    assert "<html" in page.read_text()
    assert 'src="http' not in page.read_text()


def test_a_report_is_had_by_the_folder_of_a_run_or_bundle(tmp_path: Path) -> None:
    shutil.copy(RECORDING, tmp_path / "journal.jsonl")
    assert "</html>" in cli("report", tmp_path).out


def test_a_report_goes_to_standard_output_without_a_file() -> None:
    assert "</html>" in cli("report", RECORDING).out


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), ("", "journal"), ("{}\n", "line 1"), ("not json\n", "line 1 is not JSON")],
)
def test_a_journal_that_is_none_is_one_sentence(tmp_path: Path, content: str | None, said: str) -> None:
    journal = tmp_path / "journal.jsonl"
    if content is not None:
        journal.write_text(content)
    assert_one_sentence(cli("report", journal), 2, said)


def test_a_page_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    assert_one_sentence(cli("report", RECORDING, "-o", tmp_path / "no" / "page.html"), 2, "cannot be written")


# -- salvage, publish


def test_salvage_wants_to_know_which_run(tmp_path: Path) -> None:
    assert_one_sentence(cli("salvage"), 2, "give its folder, or --newest")


def test_salvage_without_any_run_is_one_sentence(tmp_path: Path) -> None:
    assert_one_sentence(cli("salvage", "--newest", HOME=str(tmp_path)), 2, "There is no run to salvage")


def test_salvage_of_a_folder_that_is_no_run_is_one_sentence(tmp_path: Path) -> None:
    assert_one_sentence(cli("salvage", tmp_path), 2, str(tmp_path))


def test_publish_without_a_bundle_is_a_mistake() -> None:
    assert_one_sentence(cli("publish"), 2, "give --bundle DIR")


@pytest.mark.parametrize("content", [None, "{}", "{", "[]"])
def test_publish_of_a_folder_that_is_no_bundle_is_one_sentence(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "outcome.json").write_text(content)
    ran = cli("publish", "--bundle", tmp_path, GITHUB_TOKEN="x")
    assert_one_sentence(ran, 2, "outcome.json")
