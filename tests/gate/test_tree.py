"""What becomes of an ordinary work tree."""

import errno
import hashlib
import os
import shutil
from pathlib import Path

import pytest

from bot.checkout.git import Git, GitError, git_program
from bot.contracts.errors import ExitCode
from bot.gate.change_limits import ChangeLimits
from bot.gate.errors import OutOfCapacity, capacity_error
from bot.gate.judge import judge_tree
from tests.support.files import write_file
from tests.support.repositories import Repository, git
from tests.support.trees import Bench, bench, bench_of

BASE = {
    "a.txt": "one\ntwo\nthree\n",
    "src/app.py": "print('hello')\n",
    "src/deep/er/x.py": "x = 1\n",
    "image.bin": bytes(range(256)) * 4,
    ".gitignore": "*.log\n/build/\n!keep.log\n",
    "tracked.log": "tracked although ignored\n",
    "tests/test_app.py": "def test_app():\n    assert f(1) == 1\n    assert f(2) == 2\n",
}


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    folder = tmp_path_factory.mktemp("pristine")
    repository = Repository(folder / "source")
    (repository.path / "link").symlink_to("a.txt")
    repository.write("run.sh", "#!/bin/sh\n", mode=0o755)
    repository.commit("Base", **BASE)
    return bench(folder, repository)


def test_an_untouched_tree_is_no_change(desk: Bench):
    verdict = desk.judge()
    assert (verdict.patch, verdict.files, verdict.withheld) == (b"", (), ())
    assert verdict.tree_sha == desk.repository.git("rev-parse", "HEAD^{tree}")


def test_a_change_is_found_and_described(desk: Bench):
    desk.write("a.txt", "one\n2\nthree\nfour\n")
    verdict = desk.judge()
    (file,) = verdict.files
    assert (file.path, file.status, file.mode, file.additions, file.removals) == (
        "a.txt",
        "modified",
        "100644",
        2,
        1,
    )
    assert file.sha256 == hashlib.sha256(b"one\n2\nthree\nfour\n").hexdigest()
    assert file.sensitive == ""
    assert b"-two\n+2\n three\n+four\n" in verdict.patch


def test_new_files_arrive_as_they_are(desk: Bench):
    names = ["sp ace", 'quo"te', "it's", "grün-日本", ":(top)x", "-rf", "a\u0301", "tab~", "#x", "in/a.py"]
    contents = [b"a\r\nb\r\n", b"\xe4\xf6", b"\0\1", b"", *[b"x\n"] * 6]
    for name, content in zip(names, contents, strict=True):
        desk.write(f"odd/{name}", content)
    verdict = desk.judge()
    assert [(file.path, file.status) for file in verdict.files] == [
        (f"odd/{name}", "added") for name in sorted(names)
    ]
    assert [desk.show(verdict, f"odd/{name}") for name in names] == contents


def test_an_executable_bit_is_a_change_and_others_are_none(desk: Bench):
    (desk.tree / "a.txt").chmod(0o755)
    (desk.tree / "src/app.py").chmod(0o600)
    (file,) = desk.judge().files
    assert (file.path, file.mode, file.additions) == ("a.txt", "100755", 0)


def test_deletions_are_taken(desk: Bench):
    shutil.rmtree(desk.tree / "src")
    verdict = desk.judge()
    assert [(file.path, file.status, file.sha256) for file in verdict.files] == [
        ("src/app.py", "deleted", ""),
        ("src/deep/er/x.py", "deleted", ""),
    ]
    assert "src/app.py" not in desk.paths(verdict)


def test_a_folder_may_become_a_file_and_a_file_a_folder(desk: Bench):
    shutil.rmtree(desk.tree / "src")
    desk.write("src", "now a file\n")
    (desk.tree / "a.txt").unlink()
    desk.write("a.txt/inside", "now a folder\n")
    verdict = desk.judge()
    assert desk.show(verdict, "src") == b"now a file\n"
    assert desk.show(verdict, "a.txt/inside") == b"now a folder\n"


def test_the_patch_applies_in_a_plain_clone(desk: Bench, tmp_path: Path):
    desk.write("a.txt", "one\nthree")
    desk.write("image.bin", bytes(range(255, -1, -1)) * 5)
    desk.write('grün/ "x".txt', "new\n")
    desk.write("run.sh", "#!/bin/sh\nexit 1\n", mode=0o644)
    (desk.tree / "src/app.py").unlink()
    desk.link("link", "src/deep/er/x.py")
    verdict = desk.judge()
    git(tmp_path, "clone", "-q", str(desk.repository.path), "clone")
    git(tmp_path / "clone", "apply", "--index", "-", input=verdict.patch)
    assert git(tmp_path / "clone", "write-tree") == verdict.tree_sha


def test_judging_leaves_nothing_behind(desk: Bench):
    desk.write("a.txt", "changed\n")
    before = sorted(os.listdir(desk.tree.parent))
    desk.judge()
    assert sorted(os.listdir(desk.tree.parent)) == before
    assert git(desk.tree, "status", "--porcelain") == "M a.txt"


def test_the_verdict_does_not_depend_on_the_machines_git_settings(
    desk: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    desk.write("a.txt", "changed\n")
    expected = desk.judge()
    write_file(
        tmp_path / "home/.gitconfig", "[diff]\n\tnoprefix = true\n\tcontext = 0\n[core]\n\tautocrlf = true\n"
    )
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert desk.judge() == expected


# -- ignore rules


def test_ignored_files_are_left_out_by_the_bases_rules(desk: Bench):
    desk.write(".gitignore", "")
    for path in ("debug.log", "build/out.o", "build.log/x", "build/.git/config"):
        desk.write(path)
    os.mkfifo(desk.tree / "build/pipe")
    desk.write("tracked.log", "changed\n")
    taken = ["keep.log", "src/build/taken.o", "src/node_modules"]
    for path in taken:
        desk.write(path, "a file\n")
    assert [file.path for file in desk.judge().files] == [".gitignore", *taken, "tracked.log"]


def test_a_rule_that_the_agent_wrote_hides_nothing(desk: Bench):
    desk.write(".gitignore", "*\n")
    desk.write("hidden.py")
    desk.write("sub/.gitignore", "*\n")
    desk.write(".git/info/exclude", "*\n")
    git(desk.tree, "config", "core.excludesFile", str(desk.write("all", "*\n")))
    assert {file.path for file in desk.judge().files} == {".gitignore", "all", "hidden.py", "sub/.gitignore"}


WHAT_IS_WHAT = [
    ["build"], ["build/"], ["build/*"], ["build/*", "!build/a"], ["*", "!*/", "!*.py"], ["a/", "!a/"], ["a", "!a/"],
    ["*", "!a"], ["/a/*", "!/a/b/", "/a/b/x.py"], ["**/b/", "!a/b"], ["/*", "!/a"], ["?", "!b/"], ["\\!b", "*/"],
]  # fmt: skip


def test_what_is_a_folder_is_known_without_making_it(tmp_path: Path):
    """By what git itself would add, each list of rules in a folder of its own."""
    repository = Repository(tmp_path / "source")
    lists = {f"{number}/.gitignore": "\n".join([*rules, ""]) for number, rules in enumerate(WHAT_IS_WHAT)}
    repository.commit(**lists)
    desk = bench(tmp_path, repository)
    for number in range(len(WHAT_IS_WHAT)):
        for place in ("a", "b", "build", "a/b", "b/a", "a/build", "build/a", "!b"):
            for root in (desk.tree, repository.path):
                (root / f"{number}" / place).mkdir(parents=True, exist_ok=True)
                (root / f"{number}" / place / "x.py").touch()
    added = repository.git("ls-files", "--others", "--exclude-standard").splitlines()
    assert sorted(file.path for file in desk.judge().files) == sorted(added)


def test_a_full_disk_is_no_word_on_the_tree(desk: Bench, monkeypatch: pytest.MonkeyPatch):
    """Where the gate cannot look, the tree must be kept: it is all there is of the diff."""

    def full(*args: object, **named: object) -> str:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    desk.write("a.txt", "two\n")
    for place in (
        "bot.gate.objects.tempfile.mkdtemp",
        "bot.gate.gitignore.os.path.isdir",
        "bot.gate.walk.os.read",
    ):
        with monkeypatch.context() as patched:
            patched.setattr(place, full)
            desk.write("new.txt")
            with pytest.raises(
                OutOfCapacity, match="no room to judge the work tree: No space left on device"
            ):
                desk.judge()
    assert capacity_error(GitError("hash-object", "error: unable to write file: No space left on device"))
    assert capacity_error(GitError("hash-object", "fatal: bad object")) is None


@pytest.mark.parametrize(
    ("command", "number"),
    [
        *((name, errno.ENOSPC) for name in ("read-tree", "hash-object", "update-index", "write-tree")),
        *(
            ("index-pack", one)
            for one in (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENOMEM, errno.EROFS)
        ),
    ],
)
def test_what_the_machine_lacks_is_no_word_of_git_on_the_tree(
    desk: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, number: int
):
    """git names the cause first, and then what it could not do."""
    desk.write("a.txt", "two\n")
    program = tmp_path / "programs" / "git"
    program.parent.mkdir()
    message = f'echo "error: unable to write: {os.strerror(number)}" >&2; echo "fatal: it did not work" >&2'
    write_file(
        program,
        f'#!/bin/sh\ncase "$*" in {command}*|*" {command} "*) {message}; exit 128;; esac\n'
        f'exec {git_program()} "$@"\n',
        0o755,
    )
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    with pytest.raises(OutOfCapacity, match=os.strerror(number)) as caught:
        judge_tree(desk.checkout._replace(git=Git(desk.checkout.git.git_dir)))
    assert caught.value.exit_code is ExitCode.UNAVAILABLE


def test_what_test_runs_leave_behind_is_left_out_without_any_rule(tmp_path: Path):
    desk = bench_of(tmp_path, {"a.py": "1\n"})
    desk.write("__pycache__/a.cpython-311.pyc")
    desk.write(".pytest_cache/v/cache")
    desk.write("node_modules/x/index.js")
    assert desk.judge().files == ()


# -- what a reviewer should look at twice


def test_what_looks_like_a_new_credential_is_marked_by_kind_and_line(tmp_path: Path):
    new, moved, gone = ("gh" + "p_" + pair * 9 for pair in ("a1B2", "c3D4", "e5F6"))
    desk = bench_of(
        tmp_path,
        {"src/new.py": "x\n", "src/moved.py": f"a\nkey = '{moved}'\n", "src/gone.py": f"key = '{gone}'\n"},
    )
    desk.write("src/new.py", f"x\n\nkey = '{new}'\n")
    desk.write("src/moved.py", f"key = '{moved}'  # moved\na\n")
    desk.write("src/gone.py", "key = ''\n")
    assert {file.path: file.sensitive for file in desk.judge().files} == {
        "src/new.py": "adds what looks like a credential (GitHub token in line 3)",
        "src/moved.py": "",
        "src/gone.py": "",
    }


def test_a55_characters_that_do_not_show_are_marked(desk: Bench):
    desk.write("src/app.py", "is_admin = True  # \u202e\n")
    (file,) = desk.judge().files
    assert file.sensitive == "adds characters that do not show: U+202E (line 1)"


def test_a_removed_line_that_looks_like_a_patch_header_is_still_a_line(tmp_path: Path):
    desk = bench_of(tmp_path, {"test_x.lua": "-- assert(x)\ndiff --git a/x b/x\n"})
    desk.write("test_x.lua", "++ nothing\n")
    (file,) = desk.judge().files
    assert (file.additions, file.removals, file.sensitive) == (1, 2, "")


# -- speed and size


@pytest.mark.slow
def test_a_thousand_files_cost_no_process_each(tmp_path: Path):
    repository = Repository(tmp_path / "source")
    for number in range(1000):
        repository.write(f"p{number % 50}/f{number}.txt", f"{number}\n" * 400)
    repository.commit()
    desk = bench(tmp_path, repository)
    desk.write("p1/f1.txt", "changed\n")
    before = os.times()
    verdict = desk.judge()
    after = os.times()
    assert [file.path for file in verdict.files] == ["p1/f1.txt"]
    # Measured: 0.05 s of processors. The bound catches a process a file, not a busy machine.
    assert sum(after[:4]) - sum(before[:4]) < 2


def test_a_file_of_the_base_over_the_limit_may_stay(tmp_path: Path):
    desk = bench_of(tmp_path, {"large": os.urandom(200_000), "a": "1"})
    desk.write("a", "2")
    assert [file.path for file in desk.judge(limits=ChangeLimits(file_bytes=1000)).files] == ["a"]


def test_a_sha256_repository_in_a_folder_of_any_name_is_judged_too(tmp_path: Path):
    repository = Repository(tmp_path / "source", object_format="sha256")
    repository.commit(a="1\n", b="1\n")
    desk = bench(tmp_path / 'it\'s "a" é:w #', repository)
    desk.write("a", "2\n")
    (desk.tree / "b").unlink()
    verdict = desk.judge()
    assert len(verdict.tree_sha) == 64
    assert [file.path for file in verdict.files] == ["a", "b"]


def test_a_tree_that_is_gone_is_one_sentence(desk: Bench):
    shutil.rmtree(desk.tree)
    with pytest.raises(Exception, match="cannot be opened as a folder: No such file"):
        desk.judge()
