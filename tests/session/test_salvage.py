"""What `salvage` knows of a run that died: all that its journal says, and nothing that it does not.

The tree of a run whose folder is damaged, or of which the gate cannot put all in a patch, is recovered all the same."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.cli.main import run
from bot.contracts.errors import ExitCode, UsageError
from bot.contracts.outcome import Status
from bot.contracts.progress import View
from bot.contracts.writes import Write, Writes
from bot.publish.bundle import read_bundle
from bot.run.salvage import salvage
from bot.session.local.fix import FixOptions, FixResult, fix
from bot.session.run_folder import RunFolder
from tests.contracts.test_errors import IRREGULAR
from tests.support.fix_script import DONE, EDITS, VIEW, shell
from tests.support.model_script import Call, Step, Turn
from tests.support.model_server import ModelServer
from tests.support.repositories import commit_all, sample_repository
from tests.support.stage import MODEL, Stage
from tests.support.verb_runs import VerbRun, request_in, run_verb
from tests.support.workspaces import eventually

pytestmark = pytest.mark.bubblewrap


SUBMIT = Call("submit_plan", {"title": "Round first", "steps": [{"text": "Round first."}]})


def died(came: VerbRun, out: Path) -> Path:
    """The run's folder as a kill before its end leaves it: the journal stops after the last result."""
    lines = came.folder.journal.read_text().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if '"type":"result"' in line)
    came.folder.journal.write_text("".join(lines[: last + 1]))
    return out


def test_a_plan_that_was_handed_over_is_kept(stage: Stage, tmp_path: Path):
    came = run_verb(stage, request_in(stage, "plan"), [VIEW, SUBMIT, DONE])
    salvaged = salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.plan == came.bundle.plan is not None
    assert bundle.patch == b""
    assert salvaged.outcome.status is Status.PLANNED


@pytest.mark.slow
def test_what_was_proposed_is_kept(stage: Stage, tmp_path: Path):
    policy = {".github/agent.yml": "writes: { verbs: [explain], labels: [needs tests] }\n"}
    stage.forge.commit(stage.repo, policy)
    asked = request_in(stage, "explain")
    assert asked.thread is not None
    label = {"kind": "add_label", "number": asked.thread.number, "label": "needs tests"}
    came = run_verb(stage, asked, [Call("propose_write", label), DONE])
    assert came.bundle.outcome.status is Status.ANSWERED
    salvage(came.folder.root, {}, died(came, tmp_path / "out"))
    bundle = read_bundle(tmp_path / "out")
    assert bundle.outcome.status is Status.PARTIAL
    proposed = Write("add_label", asked.thread.number, label="needs tests")
    assert bundle.writes == came.bundle.writes == Writes((proposed,))


CHANGED = ["tidytime/format.py"]


def ran(home: Path, *steps: Step, resume: Path | None = None, allow_deletions: bool = False) -> RunFolder:
    """A run on the sample in `home`, and its folder."""
    repo = home / "tidytime"
    if not repo.exists():
        sample_repository(repo, checks=False)
    runs = home / ".local/state/slash-agent/runs"
    before = set(runs.glob("*"))
    with ModelServer(steps) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), **server.environment()}
        asked = FixOptions(repo, "fix it", MODEL, resume=resume, allow_deletions=allow_deletions)
        fix(asked, environment, View())
    [root] = set(runs.glob("*")) - before
    assert eventually(lambda: not list(root.glob("gone-*")))
    return RunFolder(root)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Its tree is kept for a file that no patch can hold."""
    stray = shell("head -c 6M /dev/urandom > core")
    return ran(tmp_path_factory.mktemp("kept"), VIEW, Turn(EDITS), stray, DONE, DONE)


@pytest.fixture
def folder(kept: RunFolder, tmp_path: Path) -> RunFolder:
    shutil.copytree(kept.root, tmp_path / "run", symlinks=True)
    shutil.rmtree(tmp_path / "run" / "bundle")
    return RunFolder(tmp_path / "run")


KINDS: dict[str, Callable[[Path], object]] = {
    **IRREGULAR,
    "empty": Path.touch,
    "cut": lambda path: path.write_bytes(b'{"links": {"a"'),
    "of another form": lambda path: path.write_bytes(b'[{"links": 1}]'),
    "nested": lambda path: path.write_bytes(b"[" * 100_000),
    "huge": lambda path: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 3 << 30),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["run.json", "prepared.json"])
def test_a_damaged_file_is_left_out_and_waited_for_by_nobody(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch, name: str, kind: str
):
    path = folder.root / name
    path.unlink(missing_ok=True)
    monkeypatch.chdir(path.parent)  # the name of a socket has an end
    KINDS[kind](Path(path.name))
    outcome = salvage(folder.root, {}).outcome
    assert [file.path for file in outcome.files] == CHANGED
    assert [file.path for file in read_bundle(folder.bundle).outcome.files] == CHANGED
    assert any("prepared.json" in note for note in outcome.notes) is (name == "prepared.json")


@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_journal_that_is_no_file_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
):
    monkeypatch.chdir(tmp_path)
    IRREGULAR[kind](Path("journal.jsonl"))
    for arguments in (
        ["report", "journal.jsonl"],
        ["restore", "journal.jsonl", "--path", "x", "--version", "0"],
        ["salvage", "."],
    ):
        assert run(arguments) == ExitCode.USAGE
        assert "journal.jsonl cannot be read" in capsys.readouterr().err


def test_a_git_directory_that_cannot_be_had_again_is_said_with_the_tree(folder: RunFolder, kept: RunFolder):
    shutil.rmtree(folder.root / "trusted.git")
    origin = kept.root.parents[4] / "tidytime"
    origin.rename(origin.with_name("moved"))
    try:
        with pytest.raises(UsageError, match=f"The run's work tree is whole: {folder.tree}"):
            salvage(folder.root, {})
    finally:
        origin.with_name("moved").rename(origin)


def test_of_a_run_that_died_one_tree_stays_and_it_can_be_salvaged(folder: RunFolder, tmp_path: Path):
    for name in ("tree-checks-before", "tree-prepared", "workspace-checks-before/tmp", "shown", "gone-tree"):
        (folder.root / name).mkdir(parents=True, exist_ok=True)
    (folder.root / "a link").symlink_to(tmp_path)
    folder.tidy()
    assert eventually(lambda: not list(folder.root.glob("gone-*")))
    left = {path.name for path in folder.root.iterdir() if path.is_dir() and not path.is_symlink()}
    assert left <= {"tree", "trusted.git", "archive", "workspace-agent-0"}
    assert [file.path for file in salvage(folder.root, {}, tmp_path / "out").outcome.files] == CHANGED


@pytest.fixture(scope="module")
def emptied(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run that deleted most files, which nobody allowed; its tree is kept."""
    home = tmp_path_factory.mktemp("emptied")
    repo = sample_repository(home / "tidytime", checks=False)
    (repo / "old").mkdir()
    for number in range(40):
        (repo / "old" / f"{number}.txt").write_text(f"{number}\n")
    commit_all(repo)
    return ran(home, shell("rm -r old; echo x > new.txt; head -c 6M /dev/urandom > core"), DONE, DONE)


def deleted_in(bundle: Path) -> int:
    return (bundle / "changes.patch").read_bytes().count(b"deleted file")


def test_salvage_withholds_most_files_deletion_unless_a_person_allowed_it(emptied: RunFolder, tmp_path: Path):
    outcome = salvage(emptied.root, {}, tmp_path / "out").outcome
    assert deleted_in(tmp_path / "out") == 0
    assert "--allow-deletions" in {file.path: file.reason for file in outcome.withheld}["old/0.txt"]
    allowed = RunFolder(shutil.copytree(emptied.root, tmp_path / "run", symlinks=True))
    header, rest = allowed.journal.read_text().split("\n", 1)
    line = json.loads(header)
    line["request"].setdefault("options", {})["allow-deletions"] = "true"
    allowed.journal.write_text(f"{json.dumps(line)}\n{rest}")
    salvage(allowed.root, {}, tmp_path / "allowed")
    assert deleted_in(tmp_path / "allowed") == 40


@pytest.mark.slow
def test_who_continues_may_allow_the_deletions_and_then_they_stay_allowed(emptied: RunFolder):
    home = emptied.root.parents[4]
    shutil.rmtree(emptied.bundle)
    assert deleted_in(ran(home, DONE, resume=emptied.root).bundle) == 0
    allowed = ran(home, DONE, resume=emptied.root, allow_deletions=True)
    assert deleted_in(allowed.bundle) == 40
    assert deleted_in(ran(home, DONE, resume=allowed.bundle).bundle) == 40


STRAY = shell(
    "head -c 6M /dev/urandom > core; mkfifo pipe; ln -s /etc/passwd users; git init -q inner; > $'a\\xff'"
)


def fixed_with(tmp_path: Path, *steps: Step) -> tuple[FixResult, list[str]]:
    """The run, and the bodies of its requests."""
    repo = sample_repository(tmp_path / "tidytime", checks=False)
    with ModelServer([VIEW, Turn(EDITS), STRAY, *steps]) as server:
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **server.environment()}
        fixed = fix(FixOptions(repo, "fix it", "anthropic/claude-sonnet-5-5"), environment, View())
        return fixed, [request.body.decode() for request in server.requests]


def test_a79_stray_entries_are_withheld_the_rest_goes_out_and_the_tree_stays(tmp_path: Path):
    fixed, sent = fixed_with(tmp_path, DONE, DONE)
    assert fixed.exit_code == ExitCode.DONE
    assert [file.path for file in fixed.outcome.files] == ["tidytime/format.py"]
    assert [row.path for row in fixed.outcome.withheld] == ["a\\xff", "core", "inner", "pipe", "users"]
    assert fixed.branch
    assert fixed.kept_run is not None
    assert (fixed.kept_run.tree / "core").stat().st_size == 6 << 20
    assert "- `core`: over the limit of 5242880 bytes a file" in sent[-1]
    assert sum("no patch can hold these files" in body for body in sent) == 1
    again = salvage(fixed.kept_run.root, {}, tmp_path / "again").outcome
    assert (again.files, again.withheld) == (fixed.outcome.files, fixed.outcome.withheld)


@pytest.mark.slow
def test_the_model_may_mend_what_the_gate_would_leave_out(tmp_path: Path):
    fixed, _ = fixed_with(tmp_path, DONE, shell("rm -r core pipe users inner $'a\\xff'"), DONE)
    assert fixed.exit_code == ExitCode.DONE
    assert [file.path for file in fixed.outcome.files] == ["tidytime/format.py"]
    assert (fixed.outcome.withheld, fixed.kept_run) == ((), None)
