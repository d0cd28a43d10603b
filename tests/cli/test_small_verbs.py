"""`tool`, `policy`, `report`, `salvage` and `publish`, as a person types them."""

import json
import os
import shutil
from pathlib import Path

import pytest

from bot.cli.main import run
from bot.cli.trials import result_text
from bot.contracts.errors import ExitCode
from bot.contracts.outcome import CheckRun, CheckState
from bot.session.demo.demo import RECORDING
from bot.session.local.trial import Trial
from bot.session.run_folder import RunFolder, lock_folder
from tests.cli.test_command_line import called
from tests.cli.test_command_line import warm_cli as cli
from tests.skills.corpus import skill
from tests.support.files import write_file
from tests.support.repositories import git, make_repository, sample_repository
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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("tool ls {} --root no", "There is no folder"),
        ("tool ls {} --root . --policy no.yml", "no.yml cannot be read"),
        ("policy check no.yml", "There is no file"),
        ("policy check bytes.yml", "cannot be read"),
        ("policy check list.yml", "list.yml:1"),
        ("policy check open.yml", "not YAML"),
        ("policy explain bash {", "are not JSON"),
        ("policy explain bash []", "must be a JSON object"),
        ("report no.jsonl", "cannot be read"),
        ("report empty", "journal"),
        ("report object", "first line cannot be read"),
        ("report list.yml", "it is not JSON"),
        ("report journal.jsonl -o no/page.html", "cannot be written"),
        ("salvage", "give its folder, or --newest"),
        ("salvage --newest", "There is no run to salvage"),
        ("salvage .", "."),
        ("publish", "give --bundle DIR"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
):
    shutil.copy(RECORDING, tmp_path / "journal.jsonl")
    (tmp_path / "bytes.yml").write_bytes(b"\xff\xfe")
    for name, text in (("list.yml", "- 1\n"), ("open.yml", "a: ["), ("empty", ""), ("object", "{}\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert_one_sentence(called(capsys, *words.split()), said)


@pytest.mark.parametrize("content", [None, "{}", "{", "[]"])
def test_publish_of_a_folder_that_is_no_bundle_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: str | None
):
    if content is not None:
        (tmp_path / "outcome.json").write_text(content)
    monkeypatch.setenv("GITHUB_TOKEN", "x")
    assert_one_sentence(called(capsys, "publish", "--bundle", str(tmp_path)), "outcome.json")


def assert_one_sentence(ran: CommandResult, said: str) -> None:
    assert ran.code == 2, ran.output
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert "Traceback" not in ran.output


# -- tool


@pytest.mark.bubblewrap
def test_a_tools_result_is_one_line_of_json(repo: Path):
    ran = cli("tool", "grep", '{"pattern": "def format_duration"}', "--root", repo)
    assert ran.code == 0, ran.err
    assert len(ran.out.splitlines()) == 1
    assert set(ran.json) == {"content", "is_error", "metadata"}
    assert ran.json["is_error"] is False
    assert "tidytime/format.py" in ran.json["content"]


@pytest.mark.bubblewrap
def test_no_command_of_a_single_call_changes_the_git_directory(repo: Path):
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
        ("view", "{path:", ""),
        ("task", {}, "todo"),  # what hands over to a run cannot be tried without one
    ],
)
def test_an_error_result_is_json_as_well_and_exits_with_nought(
    repo: Path, tool: str, arguments: dict[str, str] | str, said: str
):
    call = arguments if isinstance(arguments, str) else json.dumps(arguments)
    ran = cli("tool", tool, call, "--root", repo)
    assert ran.code == 0
    assert ran.json["is_error"] is True
    assert said in ran.json["content"]


@pytest.mark.bubblewrap
def test_a_tool_s_result_shows_no_secret_of_the_environment(repo: Path):
    secret = "Zq8vT2rWx5Ky7Lm3Nb4P"
    ran = cli("tool", "bash", json.dumps({"command": f"echo {secret}"}), "--root", repo, FORGE_TOKEN=secret)
    assert "Ky7Lm3Nb4P" not in ran.output
    assert ran.json["content"].startswith("[redacted FORGE_TOKEN]\n")


@pytest.mark.bubblewrap
def test_the_list_and_the_skills_can_be_tried_too_and_what_follows_is_shown(repo: Path):
    items = {"items": [{"text": "look", "status": "in_progress"}]}
    assert "look" in cli("tool", "todo", json.dumps(items), "--root", repo).json["content"]
    loaded = cli("tool", "skill", '{"command": "write-tests"}', "--root", repo)
    assert loaded.json["content"] == "Loaded the skill write-tests; its instructions follow."
    [body] = loaded.json["follows"]
    assert body.startswith('<skill-loaded name="write-tests" folder="/run/slash-agent/skills/write-tests">')


@pytest.mark.slow
@pytest.mark.bubblewrap
def test_an_edit_needs_a_file_that_was_read_unless_told_otherwise(repo: Path):
    arguments = json.dumps({"path": "README.md", "old": "# tidytime", "new": "# Tidy time"})
    refused = cli("tool", "edit", arguments, "--root", repo)
    assert refused.json["is_error"] is True
    done = cli("tool", "edit", arguments, "--root", repo, "--assume-read")
    assert done.json["is_error"] is False, done.json
    assert (repo / "README.md").read_text().startswith("# Tidy time")


@pytest.mark.bubblewrap
def test_a_tool_runs_under_the_policy_it_is_given(repo: Path, tmp_path: Path):
    policy = tmp_path / "agent.yml"
    policy.write_text(POLICY)
    ran = cli("tool", "write", '{"path": "docs/a.md", "content": "x"}', "--root", repo, "--policy", policy)
    assert ran.json["is_error"] is True
    assert "the docs are generated" in ran.json["content"]
    assert not (repo / "docs").exists()


# -- policy


def test_a_check_of_a_policy_that_is_not_there_says_which_one_holds(tmp_path: Path):
    ran = cli("policy", "check", cwd=tmp_path)
    assert ran == CommandResult(0, "There is no .github/agent.yml here, so the built-in policy holds.\n", "")


# -- report


def test_a_report_is_a_page_of_its_own(tmp_path: Path):
    page = tmp_path / "page.html"
    ran = cli("report", RECORDING, "-o", page)
    assert ran == CommandResult(0, f"{page}\n", "")
    assert "<html" in page.read_text()
    assert 'src="http' not in page.read_text()


def test_a_report_is_had_by_the_folder_of_a_run_or_bundle(tmp_path: Path):
    shutil.copy(RECORDING, tmp_path / "journal.jsonl")
    assert "</html>" in cli("report", tmp_path).out


# clean


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs: `done`, `died` with its tree, and a link to a folder that is no run."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv("RUNNER_TEMP", raising=False)
    parent = tmp_path / "slash-agent" / "runs"
    for name in ("done", "died"):
        (parent / name / "bundle").mkdir(parents=True)
        (parent / name / "journal.jsonl").write_text("x" * 50_000)
    (parent / "died" / "tree").mkdir()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (parent / "link").symlink_to(tmp_path / "precious")
    (parent / "done" / "bundle" / "link").symlink_to(tmp_path / "precious")
    return parent


def test_it_removes_finished_runs_and_says_how_much(runs: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["clean", "--yes"]) == 0
    assert sorted(os.listdir(runs)) == ["died", "link"]
    assert (runs.parents[1] / "precious" / "file").exists()
    said = capsys.readouterr().out
    assert "not finished; recover it with salvage" in said
    assert "Removed 1 run, 0.1 MB." in said


def test_a_dry_run_and_a_program_that_does_not_say_yes_remove_nothing(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert run(["clean", "--dry-run"]) == 0
    assert "Nothing was removed: 1 run, 0.1 MB could be." in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115 - closed with the test
    assert run(["clean"]) == 2
    assert sorted(os.listdir(runs)) == ["died", "done", "link"]


def test_one_that_died_is_removed_if_it_is_named_and_one_at_work_never(runs: Path):
    with lock_folder(runs / "died"), lock_folder(runs / "done"):
        assert run(["clean", "--yes", str(runs / "died")]) == 0
        assert run(["clean", "--yes"]) == 0
        assert sorted(os.listdir(runs)) == ["died", "done", "link"]
    assert run(["clean", "--yes", str(runs / "died")]) == 0
    assert sorted(os.listdir(runs)) == ["done", "link"]


@pytest.mark.parametrize("name", ["link", "..", "done/bundle", "../../precious", "gone"])
def test_nothing_else_can_be_named(runs: Path, name: str, capsys: pytest.CaptureFixture[str]):
    assert run(["clean", "--yes", str(runs / name)]) == 2
    assert "is no run of this machine" in capsys.readouterr().err
    assert (runs.parents[1] / "precious" / "file").exists()
    assert sorted(os.listdir(runs)) == ["died", "done", "link"]


def test_the_size_is_that_of_the_run_and_not_of_what_links_lead_to(runs: Path):
    from bot.session.run_folder import size_of

    (runs.parents[1] / "precious" / "file").write_bytes(b"x" * 5_000_000)
    assert size_of(RunFolder(runs / "done").root) < 1_000_000


# skills


GOOD = skill("name: greet\ndescription: Says hello. Use for greetings.\n")


def test_list_shows_the_catalogue_that_the_model_sees(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    ran = cli("skills", "list", "--for-model", "--repo", repo)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert "- greet: Says hello. Use for greetings." in lines
    assert lines[-1].startswith("- docs-drift, fix-failing-test, ")


def test_skills_alone_lists_names_and_a_line_each_for_people(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    ran = cli("skills", cwd=repo)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == cli("skills", "list", "--repo", repo).out
    lines = ran.out.splitlines()
    assert lines[0] == ".agents/skills:"
    assert lines[1].split("  ")[0] == "greet"
    assert lines[1].endswith("  Says hello. Use for greetings.")
    assert lines[2] == "bundled:"
    assert lines[3:] == sorted(lines[3:])
    assert "<skill" not in ran.out


def test_list_as_json_says_where_each_is_from_and_what_was_left_out(tmp_path: Path):
    repo = make_repository(
        tmp_path / "r",
        {".agents/skills/greet/SKILL.md": GOOD, ".agents/skills/bad/SKILL.md": "no front matter"},
    )
    told = cli("skills", "list", "--json", "--repo", repo).json
    [greet] = [one for one in told["skills"] if one["name"] == "greet"]
    assert (greet["origin"], greet["path"]) == ("repository", ".agents/skills/greet")
    assert told["notes"] == [
        ".agents/skills/bad/SKILL.md:1: front-matter: the first line must be `---`, before YAML"
    ]


def test_list_says_what_is_written_and_not_committed(tmp_path: Path):
    repo = make_repository(tmp_path / "r", {".agents/skills/greet/SKILL.md": GOOD})
    assert cli("skills", "list", "--repo", repo).err == ""
    (repo / ".agents/skills/greet/SKILL.md").write_text(GOOD.replace("hello", "moin"))
    new = repo / ".claude/skills/new/SKILL.md"
    write_file(new, GOOD.replace("greet", "new"))
    ran = cli("skills", "list", "--repo", repo)
    assert "Says hello" in ran.out
    assert "new " not in ran.out
    assert ran.err.splitlines() == [
        ".agents/skills/greet/SKILL.md is not as HEAD has it, and HEAD's counts",
        ".claude/skills/new/SKILL.md is not committed: no run has that skill yet",
    ]


def test_check_names_rule_file_and_line_and_exits_with_2(tmp_path: Path):
    write_file(tmp_path / "greet/SKILL.md", GOOD.replace("name: greet", "name: a/b"))
    ran = cli("skills", "check", tmp_path)
    assert ran.code == ExitCode.USAGE
    assert f"{tmp_path}/greet/SKILL.md:2: name-characters: 'a/b':" in ran.out
    [verdict] = cli("skills", "check", "--json", tmp_path).json
    assert verdict["loads"] is False
    assert verdict["findings"][0]["rule"] == "name-characters"
    assert verdict["findings"][0]["line"] == 2


# Trials


@pytest.mark.parametrize(
    ("run", "tests", "text"),
    [
        (CheckRun(CheckState.PASSED, 0, 12.3), 352, "passed, 352 tests, 12 s"),
        (CheckRun(CheckState.PASSED, 0, 0.2), None, "passed, 0 s"),
        (
            CheckRun(CheckState.FAILED, 1, 3.0, "E assert\n== 1 failed ==\n[exit code 1]\n"),
            20, "failed (exit 1, 3 s): == 1 failed ==",
        ),
        (CheckRun(CheckState.FAILED, -11, 3.0), None, "failed (killed by SIGSEGV, 3 s): it printed nothing"),
        (CheckRun(CheckState.TIMED_OUT, note="stopped after 120 s"), None, "too slow: stopped after 120 s"),
        (CheckRun(CheckState.NOT_RUN, note="setup\nfailed"), None, "not run: setup failed"),
        (CheckRun(CheckState.NOT_RUNNABLE, note="no \x1b[31mx"), None, "could not run here: no x"),
    ],
)  # fmt: skip
def test_one_line_says_how_a_check_ended(run: CheckRun, tests: int | None, text: str):
    assert result_text(Trial("a", "make a", run, tests)) == text
