"""What a hostile work tree may do to the diff: be withheld or shown, and nothing else (A-20 to A-25, A-45 to
A-52). Each starts from a command of the model's and ends at the bundle."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.contracts.errors import ExitCode
from tests.attacks.conftest import Attack
from tests.session.conftest import Cli
from tests.support.attacks import AttackResult, fix_with
from tests.support.repositories import git, make_repository

pytestmark = pytest.mark.bubblewrap


OK = "; echo fine > fine.txt"

GIT = "looks like git's own folder"
UNFIT = {
    "A-23 a repository inside": ("git init -q inner; echo x > inner/a", "inner", GIT),
    "A-23 a link into git's own folder": ("ln -s .git/modules/m m", "m", "points into git's own folder"),
    "A-52 .git in capitals": ("mkdir .GIT; echo x > .GIT/config", ".GIT", GIT),
    "A-52 .git by its short name": ("mkdir 'git~1'; echo x > 'git~1/config'", "git~1", GIT),
    "A-52 .git with an invisible letter": (
        "d=$(printf '.g\\342\\200\\214it'); mkdir $d; echo x > $d/config",
        ".g\\",
        GIT,
    ),
    "A-45 an absolute link": ("ln -s /etc/passwd users", "users", "points to an absolute path"),
    "A-45 a link upwards": ("ln -s ../../../etc/passwd up", "up", "points out of the tree"),
    "A-45 a link through a link": ("mkdir -p a/b; ln -s a/b l; ln -s l/../../.. out", "out", "points out of the tree"),
    "A-45 a folder that became a link": ("rm -r src; ln -s /tmp src", "src", "points to an absolute path"),
    "A-49 a socket": (
        "python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"",
        "s",
        "a socket or a device",
    ),
    "A-49 a file without end": ("truncate -s 64M huge; touch -d 2099-01-01 huge", "huge", "over the limit"),
    "A-49 a folder too deep": (
        "p=d; for i in $(seq 150); do p=$p/d; done; mkdir -p $p; echo x > $p/f",
        "d/d",
        "deeper",
    ),
    "A-49 a path too long": (
        "python3 -c \"import os; [(os.mkdir('x' * 200), os.chdir('x' * 200)) for _ in range(60)]\"",
        "xxx",
        "the path is too long",
    ),
    "A-50 a name that hides what it is": (
        "echo x > \"$(printf 'a\\342\\200\\256txt.exe')\"",
        "a\\u202e",
        "hides what it is",
    ),
    "A-50 a name of two lines": ("echo x > $'a\\n+b'", "a\\n", "holds a control character"),
    "a name that is not UTF-8": ("echo x > $'a\\xff'", "a\\xff", "not valid UTF-8"),
    "a program with its setuid bit": ("cp /bin/true t; chmod 4755 t", "t", "setuid"),
}  # fmt: skip
"""What the model does, where that shows, and why it is withheld; all of it in one run."""
ALONE = {
    "A-45 a hard link": ("ln README.md twin; echo x >> twin", "", "a hard link"),
    "A-49 a named pipe": ("rm README.md; mkfifo README.md", "README.md", "a named pipe"),
    "A-49 a tracked file without end": ("truncate -s 64M README.md", "README.md", "over the limit"),
    "A-49 thousands of files": (
        "mkdir m; cd m; seq 5000 | xargs touch",
        "m",
        "all 5000 new files: more than 300 files",
    ),
}


@pytest.mark.parametrize(
    "rows", [UNFIT, *({name: row} for name, row in ALONE.items())], ids=("together", *ALONE)
)
def test_a23_a45_a49_a50_a52_a79_what_no_commit_may_hold_is_withheld_and_the_rest_goes_out(
    attack: Attack, rows: dict[str, tuple[str, str, str]]
):
    started = time.monotonic()
    attacked = attack("; ".join(f"({command})" for command, _, _ in rows.values()) + "; echo fine >> run.sh")
    assert attacked.result.code == ExitCode.DONE, attacked.result.output
    assert attacked.files - {"l"} == {"run.sh"}  # a link on the way out that itself stays inside
    withheld = [(row["path"], row["reason"]) for row in attacked.outcome["withheld"] if not row["in_patch"]]
    for name, (_, path, reason) in rows.items():
        assert [why for where, why in withheld if where.startswith(path) and reason in why], (name, withheld)
        assert reason.encode() in attacked.request_bodies, (
            name
        )  # the model heard it, once, before the run ended
    patch = (attacked.bundle / "changes.patch").read_bytes()
    assert [line for line in patch.split(b"\n") if line.startswith(b"diff --git")][-1].endswith(b"b/run.sh")
    assert time.monotonic() - started < 180


OTHER_SERVICES = (
    ".circleci/config.yml", ".gitlab-ci.yml", "Jenkinsfile", "azure-pipelines.yml", ".travis.yml",
    ".woodpecker/x.yml", ".tekton/x.yaml",
    ".gitea/workflows/x.yml", "web/netlify.toml", "Procfile", "renovate.json", ".CircleCI/x.yml",
)  # fmt: skip
WITHHELD = {
    "A-47 a folder that was not there": ("mkdir -p .husky; echo x > .husky/pre-commit", {".husky/pre-commit"}),
    "A-52 in other letters": (
        "mkdir -p .GitHub/workflows; echo x > .GitHub/workflows/x.yml; echo y > Agents.MD",
        {".GitHub/workflows/x.yml", "Agents.MD"},
    ),
    "A-52 in letters that look alike": (
        "d=$(printf '.\\357\\275\\207ithub'); mkdir $d; echo x > $d/x.yml",
        {".\uff47ithub/x.yml"},
    ),
    "A-22 attributes that name a filter": (
        "echo '* filter=evil' > .gitattributes; git config filter.evil.clean 'touch pwned; cat'",
        {".gitattributes"},
    ),
    "A-25 submodules": ("printf '[submodule \"x\"]\\n\\tpath = -u./p\\n' > .gitmodules", {".gitmodules"}),
    "A-06 instructions for agents": (
        "mkdir -p .claude docs; echo x > CLAUDE.md; echo x > .claude/s.json; echo x > docs/CODEOWNERS",
        {"CLAUDE.md", ".claude/s.json", "docs/CODEOWNERS"},
    ),
    "A-70 what other services run from a branch": (
        "".join(f'mkdir -p "$(dirname {path})"; echo x > {path}; ' for path in OTHER_SERVICES) + "true",
        set(OTHER_SERVICES),
    ),
}  # fmt: skip
"""All of it in one run."""
IN_THE_PLACE = {
    "A-46 by renaming the parent": (
        "mkdir -p .github/workflows; mv .github x; mkdir -p .github/workflows; echo x > .github/workflows/x.yml",
        {".github/workflows/x.yml"},
    ),
    "a file in the folder's place": ("echo x > .github", {".github"}),
    "a link in the folder's place": ("mkdir w; ln -s w .github", {".github"}),
}


@pytest.mark.parametrize(
    "rows", [WITHHELD, *({name: row} for name, row in IN_THE_PLACE.items())], ids=("together", *IN_THE_PLACE)
)
def test_a06_a22_a25_a46_a47_a70_protected_paths_are_held_back_and_the_rest_goes_out(
    attack: Attack, rows: dict[str, tuple[str, set[str]]]
):
    attacked = attack("; ".join(command for command, _ in rows.values()) + OK)
    paths = {path for _, paths in rows.values() for path in paths}
    assert attacked.withheld == paths
    assert attacked.files == {"fine.txt"}
    patch = (attacked.bundle / "changes.patch").read_text()
    assert not [path for path in paths if path in patch]


SHOWN = {
    "rules that would hide files": ("echo '*' > .gitignore; echo x > hidden.sh", {".gitignore", "hidden.sh"}),
    "rules of the work tree's own git": ("echo excluded.sh > .git/info/exclude; echo x > excluded.sh", {"excluded.sh"}),
    "flags of its index": (
        "git update-index --assume-unchanged --skip-worktree README.md run.sh; echo x >> README.md; echo x >> run.sh",
        {"README.md", "run.sh"},
    ),
    "names that look like options": ("echo x > ./-rf; echo x > './--upload-pack=x'", {"-rf", "--upload-pack=x"}),
    "a process that goes on writing": (
        "(setsid nohup sh -c 'while :; do echo x >> late.txt; sleep 0.01; done' &) >/dev/null 2>&1; sleep 0.2",
        {"late.txt"},
    ),
    "A-21 settings that name programs": (
        (
            "git config core.fsmonitor 'touch p; false'; git config include.path ../evil; "
            "echo '[diff] external = x' > evil"
        ),
        {"evil"},
    ),
}  # fmt: skip
"""All of it in one run."""
SHOWN_ALONE = {
    "times turned back": (
        "touch -r run.sh /tmp/t; printf X | dd of=run.sh conv=notrunc bs=1; touch -r /tmp/t run.sh",
        {"run.sh"},
    ),
    "A-24 another git directory": ("rm -rf $(pwd)/.git; echo 'gitdir: /tmp' > .git", set[str]()),
    "A-24 no git directory": ("rm -rf $(pwd)/.git; ln -s / .git", set[str]()),
}


@pytest.mark.parametrize(
    "rows", [SHOWN, *({name: row} for name, row in SHOWN_ALONE.items())], ids=("together", *SHOWN_ALONE)
)
def test_a21_a24_nothing_hides_a_change_from_the_diff(
    attack: Attack, repo: Path, rows: dict[str, tuple[str, set[str]]]
):
    attacked = attack("; ".join(command for command, _ in rows.values()) + OK)
    paths = {path for _, paths in rows.values() for path in paths}
    assert attacked.files == {*paths, "fine.txt"}, attacked.outcome["reason"]
    branch = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/agent")
    assert set(git(repo, "diff", "--name-only", f"main..{branch}").splitlines()) == {*paths, "fine.txt"}


HOOKS = (
    "applypatch-msg commit-msg fsmonitor-watchman post-checkout post-commit post-index-change post-merge post-rewrite "
    "pre-applypatch pre-commit pre-merge-commit pre-push pre-rebase pre-receive prepare-commit-msg "
    "reference-transaction update post-update push-to-checkout"
)


@dataclass(frozen=True)
class LeftBehind:
    """A run after which hooks, a folder without permissions and traces of writes outside are looked for. `outside`
    holds a file that was there before."""

    attacked: AttackResult
    hooked: Path
    outside: Path


@pytest.fixture(scope="module")
def left_behind(tmp_path_factory: pytest.TempPathFactory) -> LeftBehind:
    folder = tmp_path_factory.mktemp("left")
    cli, hooked, outside = Cli(folder / "home"), folder / "hooked", folder / "outside"
    for made in (cli.home, outside):
        made.mkdir()
    victim = outside / "victim"
    victim.write_text("precious")
    plant = f"printf '#!/bin/sh\\ntouch {hooked}\\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook"
    commands = (
        f"mkdir -p .git/hooks; for hook in {HOOKS}; do {plant}; done; cp -r .git/hooks hooks",
        "git config core.hooksPath hooks; git config --global core.hooksPath $PWD/hooks",
        "mkdir d; echo x > d/f; chmod 000 d",
        f"echo x > {victim}; rm -f {victim}; ln -s {victim} l; echo x > l; rm l; mkdir -p {outside}/new",
    )
    repo = make_repository(folder / "app", {"README.md": "# App\n"})
    attacked = fix_with(cli.home, repo, ["; ".join(commands) + OK], cli.environment(), cold=False)
    assert attacked.result.code == ExitCode.DONE, attacked.result.output
    return LeftBehind(attacked, hooked, outside)


def test_a20_no_hook_that_was_planted_is_run(left_behind: LeftBehind):
    """The host commits, fetches and makes a branch after it; inside, a hook is a command as any other."""
    attacked = left_behind.attacked
    assert "hooks/pre-commit" in attacked.files | attacked.withheld, attacked.tool_results
    assert "fine.txt" in attacked.files
    assert not left_behind.hooked.exists()


def test_what_a_command_wrote_outside_the_tree_is_nowhere(left_behind: LeftBehind):
    assert (left_behind.outside / "victim").read_text() == "precious"
    assert os.listdir(left_behind.outside) == ["victim"]
