"""A bundle that somebody changed between the two jobs (A-26, A-31): nothing of it is published, and no git or API
write is made before that is known. The good bundle is published at the end, so each refusal is for the change."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import AgentError, ExitCode
from bot.session.event.publish_bundle import PublishJob, publish_bundle
from slash_forge import Forge
from slash_forge.bundled import REPORTER
from tests.support.fix_script import fix_steps
from tests.support.stage import Stage, open_stage

pytestmark = pytest.mark.bubblewrap

Change = Callable[[Any], None]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One run; its bundle is kept aside as `good`."""
    with Forge() as forge:
        stage = open_stage(forge, tmp_path_factory.mktemp("tampered") / "stage")
        assert stage.run(model=fix_steps()).code == 0
        stage.bundle.rename(stage.folder / "good")
        yield stage


@pytest.fixture
def bundle(stage: Stage) -> Path:
    shutil.rmtree(stage.bundle, ignore_errors=True)
    shutil.copytree(stage.folder / "good", stage.bundle)
    return stage.bundle


def job(stage: Stage) -> dict[str, str]:
    """The variables of the second job, which is one of the same event."""
    return {"GITHUB_EVENT_NAME": "issue_comment", "GITHUB_EVENT_PATH": str(stage.folder / "event.json")}


def exit_code(stage: Stage) -> int:
    """Of `publish` in that job. An error that no person can act on raises."""
    environment = stage.environment(stage.sample.publish_token, **job(stage))
    try:
        publish_bundle(PublishJob(environment, print), stage.bundle)
    except AgentError as error:
        print(error)
        return error.exit_code
    return 0


def assert_nothing_happened(stage: Stage, before: list[str]) -> None:
    assert set(stage.branches()) == {"main"}
    assert stage.pulls() == []
    assert stage.writes() == before


def change(path: str, value: Any) -> Change:
    """Set one field of `outcome.json`, by its path."""

    def apply(outcome: Any) -> None:
        *way, last = path.split(".")
        for step in way:
            outcome = outcome[step]
        outcome[last] = value

    return apply


FIELDS = {
    "another thread": change("request.thread.number", 2),
    "the address of another thread": change("request.thread.url", "https://evil.example/phish"),
    "no thread": change("request.thread", None),
    "another comment": change("request.trigger.comment_id", 1),
    "no comment": change("request.trigger", None),
    "the address of another comment": change("request.trigger.url", "https://evil.example/phish"),
    "another author": change("request.actor", {"login": "torvalds", "id": 1024025, "tier": "maintainer"}),
    "another id of the author": change("request.actor.id", 1),
    "another tier": change("request.actor.tier", "schedule"),
    "another repository": change("request.repository", "riverbend/other"),
    "no repository": change("request.repository", ""),
    "another base branch": change("request.base_ref", "agent/issue-1-x"),
    "a base that is an option": change("request.base_ref", "--upload-pack=touch pwned"),
    "a base that is a pattern": change("request.base_ref", "ma?n"),
    "a base from elsewhere": change("request.base_ref", "refs/pull/1/head"),
    "a pull request that is no draft": change("request.options", {"draft": "false"}),
    "another verb": change("request.verb", "review"),
    "other words": change("request.instruction", "open the back door"),
    "another base commit": change("base_sha", "0" * 40),
    "a base commit that is an option": change("base_sha", "--upload-pack=touch pwned"),
    "a hash that is not the patch's": change("patch_sha256", "0" * 64),
    "a field too many": change("request.extra", 1),
    "a number that is none": change("cost", "NaN"),
    "a time without end": change("ended_at", "9" * 400),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a26_an_outcome_with_another_word_in_it_is_not_published(stage: Stage, bundle: Path, name: str):
    outcome = json.loads((bundle / "outcome.json").read_text())
    FIELDS[name](outcome)
    (bundle / "outcome.json").write_text(json.dumps(outcome))
    before = stage.writes()
    assert exit_code(stage) in (ExitCode.USAGE, ExitCode.PUBLISHING)
    posts = [line for line in stage.writes()[len(before) :] if line.startswith("POST")]
    assert all("/comments" in line for line in posts)
    assert_nothing_happened(stage, stage.writes())
    assert not list(stage.folder.glob("**/pwned"))


def replace_patch(bundle: Path, patch: bytes) -> None:
    outcome = json.loads((bundle / "outcome.json").read_text())
    outcome["patch_sha256"] = hashlib.sha256(patch).hexdigest()
    (bundle / "outcome.json").write_text(json.dumps(outcome))
    (bundle / "changes.patch").write_bytes(patch)


def new_file(path: str, mode: str = "100644", text: str = "x\n") -> bytes:
    return (
        f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+{text}"
    ).encode()


PATCHES = {
    "a workflow": new_file(".github/workflows/x.yml"),
    "a workflow by another name": new_file(".GITHUB/workflows/x.yml"),
    "a hook": new_file(".git/hooks/post-checkout", "100755"),
    "git's folder in capitals": new_file(".GIT/config"),
    "a link out": new_file("link", "120000", "/etc/passwd\n\\ No newline at end of file\n"),
    "a submodule": new_file("sub", "160000", f"Subproject commit {'1' * 40}\n"),
    "a path upwards": new_file("../evil"),
    "an absolute path": new_file("/tmp/evil"),
    "two names for one file": new_file("fine.txt").replace(b"+++ b/fine.txt", b"+++ b/.github/workflows/x.yml"),
    "a rename into a protected folder": (
        b"diff --git a/README.md b/.github/workflows/x.yml\nsimilarity index 100%\n"
        b"rename from README.md\nrename to .github/workflows/x.yml\n"
    ),
    "a copy into a protected folder": (
        b"diff --git a/README.md b/.github/x\nsimilarity index 100%\ncopy from README.md\ncopy to .github/x\n"
    ),
    "a patch that does not apply": new_file("README.md"),
    "no patch at all": b"this is not a patch\n",
    "a bomb": (
        b"diff --git a/b b/b\nnew file mode 100644\nindex 0000000..1111111\nGIT binary patch\n"
        b"literal 999999999999\nzc$xx\n\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PATCHES)
def test_a26_a_patch_that_the_gate_would_not_let_out_is_not_published(stage: Stage, bundle: Path, name: str):
    replace_patch(bundle, PATCHES[name])
    assert exit_code(stage) == ExitCode.GATE
    assert_nothing_happened(stage, stage.writes())


def as_link(path: Path) -> None:
    path.rename(path.with_suffix(".aside"))
    path.symlink_to(path.with_suffix(".aside").name)


def as_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


SHAPES = {
    "a link": as_link,
    "a pipe": as_pipe,
    "a folder": as_folder,
    "endless": lambda path: os.truncate(path, 1 << 43),
    "gone": Path.unlink,
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["outcome.json", "changes.patch", "message.md"])
def test_a26_a_file_that_is_none_is_not_read(stage: Stage, bundle: Path, name: str, shape: str):
    SHAPES[shape](bundle / name)
    assert exit_code(stage) == ExitCode.USAGE
    assert_nothing_happened(stage, stage.writes())


def test_a26_a_bundle_behind_a_link_is_not_read(stage: Stage, bundle: Path):
    bundle.rename(stage.folder / "real")
    bundle.symlink_to("real")
    try:
        assert exit_code(stage) == ExitCode.USAGE
    finally:
        bundle.unlink()
        (stage.folder / "real").rename(bundle)


def test_what_else_lies_in_a_bundle_is_left_alone(stage: Stage, bundle: Path):
    """And the good bundle is published for all that: the refusals above were for what was changed."""
    (bundle / "more-writes.json").write_text('[{"close": 1}]')
    (bundle / "..evil").write_text("x")
    (bundle / "message.md").write_text(
        "Round durations\n\nCo-authored-by: Linus Torvalds <torvalds@example.com>\nSigned-off-by : x <y@z>\n"
        "```\nFixes #99\n[skip ci]\n```\n"
    )
    result = stage.publish(**job(stage))
    assert result.code == 0, result.output
    [pull] = stage.pulls()
    message = stage.get(f"commits/{pull['head']['sha']}")["commit"]["message"]
    assert "orvalds" not in message
    assert "Signed-off-by" not in message
    assert "Fixes #99" not in message
    assert "[skip ci]" not in message
    assert pull["draft"]
    assert stage.get("issues/1")["state"] == "open"


def test_a26_a_bundle_for_the_event_of_somebody_who_may_not_is_not_published(stage: Stage, bundle: Path):
    """The job's event is a stranger's comment in the same thread; the bundle says that a maintainer asked."""
    event = stage.event_file(stage.ask("/agent fix this", REPORTER), "stranger.json")
    result = stage.publish(GITHUB_EVENT_NAME="issue_comment", GITHUB_EVENT_PATH=str(event))
    assert result.code == ExitCode.PUBLISHING
    assert "is not for the event that this job is about" in result.err
