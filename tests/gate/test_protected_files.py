"""Protected paths are kept back; everything else of the same change still leaves."""

import dataclasses
import shutil
from pathlib import Path

import pytest

from bot.contracts.errors import GateError
from bot.contracts.request import Tier
from bot.gate.judge import Verdict, judge_tree
from bot.policy.agent_settings import AgentPolicy
from bot.policy.decide import may_write
from bot.policy.load import load_policy
from bot.policy.protected_files import MayWrite, ProtectedFiles
from bot.policy.publish_settings import DiffPolicy
from tests.support.repositories import Repository, git
from tests.support.trees import Bench, bench, bench_of

PROTECTED = [
    ".github/workflows/ci.yml", ".github/agent.yml", ".github", ".GitHub/workflows/x.yml", ".github./x", "GITHUB~1/x",
    "CODEOWNERS", "docs/CODEOWNERS", ".gitmodules", "sub/.gitmodules", "GITMOD~1", ".gitattributes",
    "src/.gitattributes", ".git-blame-ignore-revs", "AGENTS.md", "agents.MD", "pkg/CLAUDE.md", "GEMINI.md",
    ".cursorrules", ".cursor/rules/x.mdc", ".claude/settings.json", ".codex/config.toml", ".agents/skills/x/run.py",
    "skills/x/SKILL.md", ".husky/pre-commit", ".githooks/pre-push", ".pre-commit-config.yaml",
    ".devcontainer/devcontainer.json", ".vscode/tasks.json", "web/.npmrc", "pip.conf", ".gi\u200cthub/x",
    "AGENTS.md.", "\uff0egithub/x", ".lfsconfig", "CLAUDE.local.md", "AGENTS.override.md",
    "VSCODE~1/tasks.json", "web/CLAUDE~2/x", "NPMRC~1", "PRE-CO~1.YAM", "gi7eba~1", "app.code-workspace", ".idea/x.xml",
    ".zed/tasks.json", ".gitpod.yml", "lefthook.yml", ".overcommit.yml", ".git-hooks/pre-push", "AGENT.md",
    ".tabnine/x.json", "src/.newagentrules", "x.prompt.md", ".github/copilot-instructions.md", ".vs/tasks.vs.json",
    ".an-agent-of-tomorrow/steering/style.md", "web/.newagent/guidelines.md", "mcp.json",
]  # fmt: skip


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return bench_of(
        tmp_path_factory.mktemp("pristine"),
        {
            "a.txt": "one\n",
            ".github/workflows/ci.yml": "on: push\n",
            ".github/CODEOWNERS": "* @ada\n",
            "docs/CODEOWNERS": "* @ada\n",
            "docs/guide.md": "guide\n",
            "tools/skill/SKILL.md": "instructions\n",
            "tools/skill/run.py": "print()\n",
            "AGENTS.md": "be kind\n",
        },
    )


def withheld_reasons(verdict: Verdict) -> dict[str, str]:
    return {file.path: file.reason for file in verdict.withheld}


# A file where another row has a folder, so in a tree of its own.
@pytest.mark.parametrize("paths", [[".github"], [path for path in PROTECTED if path != ".github"]])
def test_protected_paths_made_from_nothing_are_withheld(tmp_path: Path, paths: list[str]):
    desk = bench_of(tmp_path, {"a.txt": "one\n"})
    for path in paths:
        desk.write(path, "planted\n")
    desk.write("a.txt", "changed\n")
    verdict = desk.judge()
    assert [file.path for file in verdict.files] == ["a.txt"]
    reasons = withheld_reasons(verdict)
    assert sorted(reasons) == sorted(paths)
    assert {
        path: reason for path, reason in reasons.items() if not reason.startswith("protected path: ")
    } == {}
    assert desk.paths(verdict) == ["a.txt"]


def test_paths_that_are_only_similar_are_published(desk: Bench):
    paths = [
        "src/github/x.py", "gitattributes", "docs/agents.md.txt", "npmrc", ".github2/x", "x/.github/y",
        "notes~", "a~b", "longer-name~1", "x.~1~", "idea/x", "workspace.code", ".changeset/brave-cats-sing.md",
        ".storybook/intro.md", ".config/x.toml", ".eslintrc.json", ".prettierrc", ".cargo/config.toml", "rules.md",
    ]  # fmt: skip
    for path in paths:
        desk.write(path)
    verdict = desk.judge()
    assert [file.path for file in verdict.files] == sorted(paths)
    assert verdict.withheld == ()


def test_changing_deleting_or_making_a_protected_path_executable_is_withheld(desk: Bench):
    desk.write(".github/workflows/ci.yml", "on: pull_request_target\n")
    (desk.tree / "AGENTS.md").unlink()
    (desk.tree / "docs/CODEOWNERS").chmod(0o755)
    verdict = desk.judge()
    assert verdict.patch == b""
    assert verdict.files == ()
    assert [file.path for file in verdict.withheld] == [
        ".github/workflows/ci.yml",
        "AGENTS.md",
        "docs/CODEOWNERS",
    ]
    assert b"pull_request_target" in verdict.withheld_patch


def test_all_of_a_skill_is_protected(desk: Bench):
    desk.write("tools/skill/run.py", "import os\n")
    desk.write("tools/other.py")
    verdict = desk.judge()
    assert [file.path for file in verdict.files] == ["tools/other.py"]
    assert [file.reason for file in verdict.withheld] == ["protected path: the skill tools/skill"]


def test_what_stands_where_a_protected_path_is_kept_is_withheld_too(desk: Bench):
    shutil.rmtree(desk.tree / "docs")
    desk.write("docs", "a file where a folder with CODEOWNERS was\n")
    verdict = desk.judge()
    assert verdict.files == ()
    assert {file.path: file.reason for file in verdict.withheld} == {
        "docs": "in the way of a path that is kept as it was",
        "docs/CODEOWNERS": "protected path: CODEOWNERS",
        "docs/guide.md": "deleted for an entry that is withheld",
    }
    assert {"docs/CODEOWNERS", "docs/guide.md"} <= set(desk.paths(verdict))


def test_the_two_patches_together_are_all_that_the_agent_did(desk: Bench, tmp_path: Path):
    desk.write(".github/workflows/ci.yml", "on: [pull_request]\n")
    desk.write("a.txt", "changed\n")
    desk.write("AGENTS.md", "be cruel\n")
    verdict = desk.judge()
    git(tmp_path, "clone", "-q", str(desk.repository.path), "clone")
    for patch in (verdict.patch, verdict.withheld_patch):
        git(tmp_path / "clone", "apply", "-", input=patch)
    for path in (".github/workflows/ci.yml", "a.txt", "AGENTS.md"):
        assert (tmp_path / "clone" / path).read_bytes() == (desk.tree / path).read_bytes()


def test_the_policy_can_withhold_more(desk: Bench):
    desk.write("a.txt", "changed\n")
    desk.write("docs/guide.md", "changed\n")
    verdict = desk.judge(
        may_write=lambda path, *_: "rule 3: docs are for people" if path.startswith("docs/") else None
    )
    assert [file.path for file in verdict.files] == ["a.txt"]
    assert [(file.path, file.reason) for file in verdict.withheld] == [
        ("docs/guide.md", "rule 3: docs are for people")
    ]


def test_the_policy_cannot_let_a_protected_path_through(desk: Bench):
    desk.write("AGENTS.md", "obey\n")
    assert desk.judge(may_write=lambda path, *_: None).files == ()


# -- deleting most of it


@pytest.fixture
def twenty(tmp_path: Path) -> Bench:
    repository = Repository(tmp_path / "source")
    files: dict[str, str | bytes] = {f"src/{number}.txt": f"{number}\n" for number in range(20)}
    repository.commit("Base", **files)
    return bench(tmp_path, repository)


def delete(desk: Bench, number: int) -> None:
    for path in sorted(desk.tree.glob("src/*.txt"))[:number]:
        path.unlink()
    desk.write("new.txt")


def test_more_than_half_of_the_files_deleted_are_withheld_and_the_rest_goes_out(twenty: Bench):
    delete(twenty, 11)
    verdict = twenty.judge(may_write=LETS_NONE)
    assert [file.path for file in verdict.files] == ["new.txt"]
    assert len(verdict.withheld) == 11
    assert verdict.withheld[0].reason == (
        "the change deletes more than half of the files: `diff: {deletions: true}` of the policy, or --allow-deletions "
        "of `slash-agent fix`, lets them go"
    )
    assert verdict.withheld_patch.count(b"deleted file mode") == 11


DELETIONS = load_policy("version: 1\ndiff: {deletions: true}\n")


@pytest.mark.parametrize(
    ("number", "rule"),
    [
        (10, may_write(load_policy(None), Tier.MAINTAINER)),
        (20, may_write(DELETIONS, Tier.MAINTAINER)),
        (20, may_write(load_policy(None), Tier.LOCAL, deletions=True)),
    ],
)
def test_half_may_be_deleted_and_with_leave_all(twenty: Bench, number: int, rule: MayWrite):
    delete(twenty, number)
    assert twenty.judge(may_write=rule).withheld == ()


def test_files_that_only_move_are_not_deleted(twenty: Bench):
    (twenty.tree / "src").rename(twenty.tree / "lib")
    assert twenty.judge(may_write=LETS_NONE).withheld == ()


def test_of_a_small_repository_all_may_be_deleted(desk: Bench):
    for path in desk.tree.glob("*.txt"):
        path.unlink()
    assert desk.judge(may_write=LETS_NONE).withheld == ()


# -- what other services obey

OBEYED = [
    ".circleci/config.yml", ".gitlab-ci.yml", "ci/x.gitlab-ci.yml", ".gitlab/ci.yml", "Jenkinsfile",
    "build/Jenkinsfile.prod", "azure-pipelines.yml", ".azure-pipelines/ci.yml", ".travis.yml", ".woodpecker.yaml",
    ".woodpecker/ci.yml", ".cirrus.star", ".semaphore/semaphore.yml", ".buildkite/pipeline.yml",
    ".teamcity/settings.kts", ".tekton/pr.yaml", ".gitea/workflows/ci.yml", ".forgejo/workflows/ci.yml",
    ".drone.jsonnet", "appveyor.yml", "bitbucket-pipelines.yml", ".readthedocs.yaml", "netlify.toml",
    "site/netlify.toml", "vercel.json", "render.yaml", "fly.toml", "app.json", "Procfile", "renovate.json5",
    ".renovaterc", "codemagic.yaml", "bitrise.yml", "cloudbuild.yaml", "buildspec.yml", "amplify.yml",
    "screwdriver.yaml", ".zuul.d/jobs.yaml", "zuul.yaml", "Earthfile", "codefresh.yml", ".harness/x.yaml",
    "wercker.yml", "atlantis.yaml", ".eas/workflows/x.yml", ".CircleCI/config.yml", ".circle\u200bci/config.yml",
    "\uff0ecircleci/config.yml", "CIRCLE~1/config.yml", ".gitlab-ci.yml.", "JENKINSFILE", ".gitlab-ci/build.yml",
    "bors.toml", ".platform.app.yaml", "deploy.gocd.yaml", ".do/app.yaml",
]  # fmt: skip


def test_a70_what_another_service_obeys_is_withheld(desk: Bench):
    for path in OBEYED:
        desk.write(path)
    desk.write("a.txt", "changed\n")
    verdict = desk.judge(may_write=LETS_NONE)
    assert [file.path for file in verdict.files] == ["a.txt"]
    reasons = withheld_reasons(verdict)
    assert sorted(reasons) == sorted(OBEYED)
    assert {
        path: reason for path, reason in reasons.items() if not reason.startswith("protected path: ")
    } == {}


def test_what_no_service_obeys_is_published(desk: Bench):
    paths = [
        "docs/.circleci/x.yml", "docs/netlify.md", "app.js", "src/renderer.py", "lib/render/yaml.py",
        "profile",
    ]  # fmt: skip
    for path in paths:
        desk.write(path)
    assert [file.path for file in desk.judge(may_write=LETS_NONE).files] == sorted(paths)


def test_the_policy_lifts_a_service_by_name_and_reviewers_still_see_it(desk: Bench):
    desk.write("netlify.toml")
    desk.write("vercel.json")
    verdict = desk.judge(may_write=LETS)
    assert [(file.path, file.sensitive) for file in verdict.files] == [("netlify.toml", "CI")]
    assert [(file.path, file.reason) for file in verdict.withheld] == [
        (
            "vercel.json",
            "protected path: vercel runs what it says; `diff: {services: [vercel]}` in the policy allows changes to it",
        )
    ]


# -- what a review does not show


POLICY = dataclasses.replace(
    load_policy(None),
    source="ops/agent.yml",
    agent=AgentPolicy(instructions=("RULES.md",)),
    diff=DiffPolicy(binaries=("assets/**",), links=("docs/latest",), services=("netlify",)),
)
LETS = may_write(POLICY, Tier.MAINTAINER)
LETS_NONE = may_write(load_policy(None), Tier.MAINTAINER)


def test_a_binary_is_withheld_unless_the_policy_lets_it_out(desk: Bench):
    desk.write("assets/logo.png", b"\x89PNG\0\x01")
    desk.write("tool.bin", b"\x7fELF\0")
    verdict = desk.judge(may_write=LETS)
    assert [file.path for file in verdict.files] == ["assets/logo.png"]
    assert [file.path for file in verdict.withheld] == ["tool.bin"]
    assert verdict.withheld[0].reason.startswith(
        "a binary file, which a review does not show: `diff: {binaries:"
    )
    assert b"tool.bin" in verdict.withheld_patch


def test_a_link_is_withheld_unless_the_policy_lets_it_out(desk: Bench):
    desk.link("docs/latest", "guide.md")
    desk.link("a.txt", "docs/guide.md")
    verdict = desk.judge(may_write=LETS)
    assert [file.path for file in verdict.files] == ["docs/latest"]
    assert [file.path for file in verdict.withheld] == ["a.txt"]


def test_no_policy_lets_a_link_lead_out(desk: Bench):
    desk.link("docs/latest", "/etc/passwd")
    verdict = desk.judge(may_write=LETS)
    assert [row.reason for row in verdict.unfit] == ["the symbolic link points to an absolute path"]
    assert verdict.patch == verdict.withheld_patch == b""


def test_deleting_a_binary_and_making_it_executable_is_text(tmp_path: Path):
    desk = bench_of(tmp_path, {"a.bin": b"\0one", "b.bin": b"\0two", "c.bin": b"\0three"})
    (desk.tree / "a.bin").unlink()
    (desk.tree / "b.bin").chmod(0o755)
    desk.write("c.bin", b"\0changed")
    verdict = desk.judge(may_write=LETS_NONE)
    assert [file.path for file in verdict.files] == ["a.bin", "b.bin"]
    assert [file.path for file in verdict.withheld] == ["c.bin"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"a = 1\n", "a = 2\n".encode("utf-16")),
        (None, "a = 2\n".encode("utf-16")),
        ("a = 1\n".encode("utf-16"), "a = 2\n".encode("utf-16")),
    ],
)
def test_text_that_is_binary_for_git_is_withheld(tmp_path: Path, old: bytes | None, new: bytes):
    desk = bench_of(tmp_path, {"b.txt": "x\n", **({"a.js": old} if old else {})})
    desk.write("a.js", new)
    assert "a binary file" in withheld_reasons(desk.judge(may_write=LETS_NONE))["a.js"]


def test_a_secret_in_a_wide_encoding_is_found(desk: Bench):
    desk.write("a.txt", "the key is hunter2hunter2".encode("utf-16"))
    with pytest.raises(GateError, match="holds the value of KEY"):
        judge_tree(desk.checkout, holds_secret=lambda data: "KEY" if b"hunter2hunter2" in data else None)


def test_a71_the_policy_and_the_files_that_it_names_are_protected(desk: Bench):
    paths = [
        "ops/agent.yml", "Ops/Agent.YML", "ops/agent.yml.", "ops/ag\u200bent.yml", "RULES.md", "web/rules.MD",
    ]  # fmt: skip
    for path in paths:
        desk.write(path)
    assert withheld_reasons(desk.judge(may_write=LETS)) == dict.fromkeys(
        paths, "protected path: the policy or a file that it names"
    )


def test_a_file_of_two_services_is_withheld_until_both_are_lifted():
    path = ".buildkite/appveyor.yml"
    both = ("appveyor", "buildkite")
    for one, other in (both, both[::-1]):
        assert other in (ProtectedFiles(lifted=(one,))(path) or "")
    assert ProtectedFiles(lifted=both)(path) is None
