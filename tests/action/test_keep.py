"""What the job `prepare` left is one file, which a run unpacks inside its sandbox. Any other file is not used, and the
result says why."""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from bot.environment.prepared import MOST_BYTES, kept_at_their_path, kept_in_home
from tests.attacks.test_prepared_environment import BASE
from tests.session.test_event import READING
from tests.support.files import write_file
from tests.support.fix_script import fix_steps
from tests.support.programs import run_program
from tests.support.repositories import commit_all, git, make_repository
from tests.support.runner import ACTION, ROOT, read_outputs
from tests.support.stage import Stage

pytestmark = pytest.mark.bubblewrap

KEEP = ROOT / ".github" / "action" / "keep.py"
TOOL = "Python/3.12.4/x64"
CHECK = "test -f installed/a && test -f data/a.json && test -f ~/go/pkg/mod/b && {}/bin/tool && linter && git status"
POLICY = "version: 1\ndiagnostics: {{checkers: []}}\nchecks:\n  - {}\n"
UNUSED = "What the job `prepare` left is not used: "


@dataclass
class Prepared:
    """A finished job `prepare`, and what the run's job finds."""

    stage: Stage
    folder: Path
    digest: str

    @property
    def file(self) -> Path:
        return self.folder / "slash-agent-environment.tar"

    def run(self, **variables: str) -> dict[str, object]:
        steps = fix_steps()
        done = self.stage.run(
            model=steps,
            SLASH_AGENT_PREPARE="auto",
            SLASH_AGENT_ENVIRONMENT=str(self.folder),
            SLASH_AGENT_ENVIRONMENT_DIGEST=self.digest,
            **{**machine(self.stage), **variables},
        )
        assert done.code == 0, done.output
        return json.loads((self.stage.bundle / "outcome.json").read_text())

    def rewrite(self, change: Callable[[tarfile.TarFile], None]) -> None:
        """As a job would whose code writes what it likes: the digest is of the new file."""
        with tarfile.open(self.file, "a") as tar:
            change(tar)
        self.digest = run_program(["sha256sum", self.file], check=True).stdout.split()[0]


def test_an_images_own_folder_of_programs_is_kept_at_its_path():
    assert {Path("/opt/pipx"), Path("/opt/pipx_bin")} <= set(kept_at_their_path({})), "of pipx"
    assert not any(map(os.path.isabs, kept_in_home()))


def machine(stage: Stage) -> dict[str, str]:
    return {
        "GITHUB_WORKSPACE": str(stage.folder / "work"),
        "RUNNER_TOOL_CACHE": str(stage.folder / "tools"),
        "ImageOS": "ubuntu24",
        "ImageVersion": "20261101.1",
    }


def keep(stage: Stage, **variables: str) -> dict[str, str]:
    """Run the job's last step; its outputs."""
    folder = stage.folder / "kept"
    folder.mkdir(exist_ok=True)
    outputs = stage.folder / "keep-outputs"
    outputs.write_text("")
    event = stage.event_file(stage.sample.event, "keep-event.json")
    given = {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(outputs), "GITHUB_EVENT_PATH": str(event)}
    subprocess.run(
        [sys.executable, "-I", KEEP, folder / "slash-agent-environment.tar"],
        cwd=stage.folder / "work",
        env=stage.environment(**{**given, **machine(stage), **variables}),
        check=True,
    )
    return read_outputs(outputs.read_text())


def installed(stage: Stage) -> None:
    """A checkout, in which steps of CI have installed something everywhere."""
    stage.forge.commit(
        stage.repo,
        {
            ".gitignore": "installed/\n",
            "pyproject.toml": None,  # else an environment that is of no use would be made anew
            "go.sum": "a v1 h1:x\n",
            ".github/agent.yml": POLICY.format(json.dumps(CHECK.format(stage.folder / "tools" / TOOL))),
        },
    )
    work, home = stage.folder / "work", stage.folder / "home"
    tool = stage.folder / "tools" / TOOL / "bin"
    tool.mkdir(parents=True)
    work.mkdir()
    git(work, "clone", "-q", f"{stage.forge.url}/{stage.repo}.git", ".")
    data = make_repository(stage.folder / "data", {"a.json": "{}"})
    git(work, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(data), "data")
    commit_all(work, "A submodule")
    git(work, "push", "-q", str(stage.forge.git_folder(stage.repo)), "HEAD")
    for file in (work / "installed/a", home / "go/pkg/mod/b", home / "go/bin/linter", tool / "tool"):
        write_file(file, "#!/bin/sh\n", 0o755)
    (home / "go/pkg/mod").chmod(0o555)  # as Go leaves it


@pytest.fixture
def prepared(stage: Stage) -> Prepared:
    installed(stage)
    outputs = keep(stage)
    # The run has another machine, with the same tools.
    shutil.rmtree(stage.folder / "work")
    (stage.folder / "work").mkdir()
    (stage.folder / "home/go/pkg/mod").chmod(0o755)
    shutil.rmtree(stage.folder / "home" / "go")
    (stage.folder / "tools" / TOOL / "bin" / "tool").unlink()
    return Prepared(stage, stage.folder / "kept", outputs["digest"])


def states(outcome: dict[str, object]) -> list[str]:
    [check] = outcome["checks"]  # type: ignore[misc]
    return [check[when]["state"] for when in ("before", "after")]


def unused(outcome: dict[str, object]) -> str:
    [note] = [one for one in outcome["notes"] if one.startswith(UNUSED)]  # type: ignore[attr-defined]
    return note.removeprefix(UNUSED)


@pytest.mark.slow
def test_what_was_installed_is_there_in_workspace_home_and_tool_cache(prepared: Prepared):
    outcome = prepared.run()
    assert states(outcome) == ["passed", "passed"], json.dumps(outcome["checks"])
    assert not [one for one in outcome["notes"] if UNUSED in one]  # type: ignore[attr-defined]
    assert not (prepared.stage.folder / "work" / "installed").exists()
    assert not (prepared.stage.folder / "tools" / TOOL / "bin" / "tool").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variables", "reason"), [({"ImageVersion": "20261115.1"}, "image"), ({"PATH": "{own}:{path}"}, "ruby")]
)
def test_another_image_or_interpreter_has_no_use_for_it(
    prepared: Prepared, variables: dict[str, str], reason: str
):
    own = prepared.stage.folder / "own"
    write_file(own / "ruby", "#!/bin/sh\n", 0o755)
    given = {name: value.format(own=own, path=os.environ["PATH"]) for name, value in variables.items()}
    assert unused(prepared.run(**given)) == f"this job has other {reason} than the one that prepared it."


def _link(prepared: Prepared) -> None:
    prepared.file.rename(prepared.stage.folder / "elsewhere.tar")
    prepared.file.symlink_to(prepared.stage.folder / "elsewhere.tar")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda prepared: prepared.file.unlink(), "it could not be downloaded."),
        (lambda prepared: prepared.file.write_bytes(b"another"), "it is not the one that the job made."),
        (_link, "it could not be downloaded."),
        (lambda prepared: os.truncate(prepared.file, 5 << 30), "it has 5,120 MiB, and 2,048 is the most."),
    ],
)
def test_a120_an_artifact_that_is_missing_swapped_or_too_large_is_not_used(
    prepared: Prepared, change: Callable[[Prepared], None], reason: str
):
    change(prepared)
    assert unused(prepared.run()) == reason


@pytest.mark.parametrize("leads_out", [True, False])
def test_a121_a_forged_file_reaches_nothing_outside_of_the_sandbox(prepared: Prepared, leads_out: bool):
    """Its members lead out of every folder, or a folder of packages is a link to the runner's files."""
    secret = prepared.stage.folder / "secret"
    write_file(secret / "tool", "#!/bin/sh\n", 0o755)
    place = f"outside{prepared.stage.folder}/tools/{TOOL}/bin"

    def forge(tar: tarfile.TarFile) -> None:
        names = ("workspace/../../../escaped", f"outside/../../../..{prepared.stage.folder}/escaped")
        for name in names if leads_out else ():
            tar.addfile(tarfile.TarInfo(name), io.BytesIO())
        link = tarfile.TarInfo(place)
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        tar.addfile(link)

    with tarfile.open(prepared.file) as tar:
        kept = [one for one in tar.getmembers() if not one.name.startswith(place)]
        contents = {one.name: tar.extractfile(one).read() for one in kept if one.isfile()}  # type: ignore[union-attr]
    with tarfile.open(prepared.file, "w") as tar:
        for member in kept:
            tar.addfile(member, io.BytesIO(contents.get(member.name, b"")))
    prepared.rewrite(forge)
    outcome = prepared.run()
    assert "passed" not in states(outcome)
    assert ("it cannot be unpacked." in str(outcome["notes"])) is leads_out
    assert not list(prepared.stage.folder.rglob("escaped"))


def test_nothing_from_a_registry_of_ones_own_is_kept_for_a_public_repository(stage: Stage):
    installed(stage)
    own = {"PIP_INDEX_URL": "https://user:key@packages.example/simple"}
    assert keep(stage, **own) == {}
    stage.sample.event["repository"]["private"] = True
    assert set(keep(stage, **own)) == {"file", "digest"}


def test_what_is_over_two_gib_is_not_kept(stage: Stage):
    installed(stage)
    with (stage.folder / "work/installed/large").open("wb") as file:
        file.truncate(MOST_BYTES)
    assert keep(stage) == {}


# Preparing


@pytest.mark.slow
@pytest.mark.checks
def test_what_failed_is_said_with_what_to_do(stage: Stage):
    stage.forge.commit(stage.repo, BASE | {"requirements.txt": "-r there-is-no-such-file.txt\n"})
    token = stage.forge.token(permissions=READING, repo=stage.repo)
    result = stage.run(model=fix_steps(), token=token, SLASH_AGENT_PREPARE="auto")
    assert result.code == 0, result.output
    assert result.output.count("setup: [ -d .venv ]") == 1
    [note] = [one for one in stage.outcome()["notes"] if "could not be installed" in one]
    assert "ERROR: Could not open requirements file" in note
    assert "[exit code" not in note
    assert "`setup:`" in note


def test_a82_a89_no_job_that_runs_the_agent_or_publishes_restores_or_saves_a_cache():
    """What a run on another branch, or the code of a head, has written to it would run here."""
    steps = yaml.safe_load(ACTION.read_text())["runs"]["steps"]
    for file in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            steps += job.get("steps", [])
    used = {step["uses"].partition("@")[0] for step in steps if "uses" in step}
    assert "actions/upload-artifact" in used
    assert not [name for name in used if name.startswith("actions/cache")]
