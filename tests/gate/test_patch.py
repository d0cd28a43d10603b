"""The gate on a patch, as `publish` uses it: what comes in the bundle is hostile until judged."""

import base64
import os
import zlib
from pathlib import Path

import pytest

from bot.contracts.errors import GateError
from bot.gate.change_limits import ChangeLimits
from bot.gate.judge import Verdict, judge_patch
from tests.support.trees import Bench, bench_of


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    files = {
        "a.txt": "one\ntwo\n",
        "src/app.py": "x = 1\n",
        "image.bin": bytes(range(256)) * 40,
        ".github/workflows/ci.yml": "on: push\n",
        ".gitignore": "*.log\n",
    }
    return bench_of(tmp_path_factory.mktemp("pristine"), files, {"link": "a.txt"})


def judged(desk: Bench, patch: bytes | str, limits: ChangeLimits | None = None) -> Verdict:
    data = patch if isinstance(patch, bytes) else patch.encode()
    return judge_patch(
        desk.checkout.git, desk.checkout.base_sha, data, limits=limits or ChangeLimits(), may_write=None
    )


def refused(desk: Bench, patch: bytes | str, match: str, limits: ChangeLimits | None = None) -> None:
    with pytest.raises(GateError, match=match) as caught:
        judged(desk, patch, limits)
    assert caught.value.exit_code == 7
    assert "\n" not in str(caught.value)


def new_file(path: str, content: str = "x", mode: str = "100644") -> str:
    quoted = path if path.isascii() and path.isprintable() else f'"{path.encode("unicode_escape").decode()}"'
    return (
        f"diff --git a/{quoted} b/{quoted}\nnew file mode {mode}\n--- /dev/null\n+++ b/{quoted}\n"
        f"@@ -0,0 +1 @@\n+{content}\n\\ No newline at end of file\n"
    )


def many_changes(desk: Bench) -> Verdict:
    desk.write("a.txt", "one\r\nthree")
    desk.write("src/new file.py", "y = 2\n", mode=0o755)
    desk.write("grün/日本.txt", "z\n")
    desk.write("image.bin", bytes(range(256)) * 39 + b"end")
    desk.write("empty")
    (desk.tree / "src/app.py").unlink()
    desk.link("link", "src")
    desk.write(".github/workflows/ci.yml", "on: [push, pull_request_target]\n")
    return desk.judge()


def test_a_verdicts_patch_gives_the_same_verdict_without_the_withheld_part(desk: Bench):
    verdict = many_changes(desk)
    again = judged(desk, verdict.patch)
    assert again.tree_sha == verdict.tree_sha
    assert again.patch == verdict.patch
    assert again.files == verdict.files
    assert (again.withheld, again.withheld_patch) == ((), b"")
    assert len(verdict.withheld) == 1


def test_a_withheld_patch_is_withheld_again(desk: Bench):
    verdict = many_changes(desk)
    again = judged(desk, verdict.withheld_patch)
    assert again.patch == b""
    assert again.withheld == verdict.withheld


def test_an_empty_patch_is_no_change(desk: Bench):
    verdict = judged(desk, b"")
    assert (verdict.patch, verdict.files) == (b"", ())
    assert verdict.tree_sha == desk.repository.git("rev-parse", "HEAD^{tree}")


def test_a_file_that_the_base_ignores_may_come_by_patch(desk: Bench):
    """Ignore rules sort out leftovers of a work tree; what a patch names was meant."""
    assert [file.path for file in judged(desk, new_file("x.log")).files] == ["x.log"]


@pytest.mark.parametrize(
    "path",
    ["../outside", "dir/../../outside", "/etc/passwd", ".git/config", "sub/.git/hooks/x", ".GIT/x", "git~1/x",
     ".git./x", ".g\\342\\200\\214it/x"],
)  # fmt: skip
def test_a_path_that_leaves_the_tree_is_refused(desk: Bench, path: str):
    patch = new_file(path)
    if "\\" in path:
        patch = patch.replace(f"a/{path}", f'"a/{path}"').replace(f"b/{path}", f'"b/{path}"')
    refused(desk, patch, "does not apply|does not stay|git's own folder")
    assert not (desk.tree.parent / "outside").exists()


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", ".git/hooks"])
def test_a_link_that_leads_out_is_refused(desk: Bench, target: str):
    refused(desk, new_file("new", target, mode="120000"), "symbolic link")


def test_a_link_and_a_file_behind_it_are_refused(desk: Bench):
    patch = new_file("new", "/tmp", mode="120000") + new_file("new/planted")
    refused(desk, patch, "symbolic link|does not apply")
    assert not Path("/tmp/planted").exists()


def test_a_submodule_is_refused(desk: Bench):
    refused(
        desk, new_file("sub", f"Subproject commit {'a' * 40}", mode="160000"), "mode 160000|does not apply"
    )


@pytest.mark.parametrize("mode", ["100777", "104755", "040000", "100600", "140000", "0", "999999"])
def test_an_odd_mode_never_arrives(desk: Bench, mode: str):
    try:
        verdict = judged(desk, new_file("tool", mode=mode))
    except GateError:
        return
    assert {file.mode for file in verdict.files} <= {"100644", "100755"}


def test_a_file_that_becomes_a_link_by_mode_alone_is_judged_as_one(desk: Bench):
    desk.write("a.txt", "/etc/passwd")
    first = desk.judge().patch.decode()
    refused(desk, first.replace(" 100644\n", " 120000\n", 1), "symbolic link|does not apply")


def test_a_rename_into_a_protected_place_is_withheld(desk: Bench):
    patch = (
        "diff --git a/src/app.py b/.github/app.py\nsimilarity index 100%\n"
        "rename from src/app.py\nrename to .github/app.py\n"
    )
    verdict = judged(desk, patch)
    assert [(file.path, file.status) for file in verdict.files] == [("src/app.py", "deleted")]
    assert [file.path for file in verdict.withheld] == [".github/app.py"]


@pytest.mark.parametrize(
    "patch",
    [
        b"not a patch\n",
        b"\0\xff",
        b"diff --git a/x b/x\n",
        b"--- a/a.txt\n+++ b/a.txt\n@@ -9 +9 @@\n-no\n+x\n",
    ],
)
def test_what_does_not_apply_is_one_sentence(desk: Bench, patch: bytes):
    refused(desk, patch, "does not apply to the base commit")


@pytest.mark.parametrize(
    ("patch", "match", "limits"),
    [
        ("x" * 1001, "1001 bytes; the limit is 1000", ChangeLimits(patch_bytes=1000)),
        ("".join(new_file(f"f{number}") for number in range(4)), "more than 3 files", ChangeLimits(files=3)),
        (new_file("big", "x" * 101), "`big` is over the limit of 100 bytes", ChangeLimits(file_bytes=100)),
        (new_file("one", "x" * 80) + new_file("two", "y" * 80), "more than 150 bytes", ChangeLimits(total_bytes=150)),
    ],
)  # fmt: skip
def test_a_patch_over_a_limit_is_refused(desk: Bench, patch: str, match: str, limits: ChangeLimits):
    refused(desk, patch, match, limits)


def binary(kind: str, size: int | str, data: bytes) -> bytes:
    packed = zlib.compress(data)
    lines = b""
    for start in range(0, len(packed), 52):
        chunk = packed[start : start + 52]
        length = chr(ord("A") + len(chunk) - 1) if len(chunk) <= 26 else chr(ord("a") + len(chunk) - 27)
        lines += length.encode() + base64.b85encode(chunk, pad=True) + b"\n"
    header = b"diff --git a/bomb b/bomb\nnew file mode 100644\nindex " + b"0" * 40 + b".." + b"1" * 40
    return header + f"\nGIT binary patch\n{kind} {size}\n".encode() + lines + b"\nliteral 0\nHcmV?d00001\n\n"


# Source size 1, result size 2**42, then a copy of the source.
DELTA = bytes([1]) + bytes([0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]) + b"\x91\x00\x01"


@pytest.mark.parametrize(
    "bomb", [binary("literal", 10**11, b"x"), binary("delta", len(DELTA), DELTA)], ids=["literal", "delta"]
)
def test_a_bomb_is_refused_before_it_is_unpacked(desk: Bench, bomb: bytes):
    refused(desk, bomb, "unpacks to more than")


@pytest.mark.parametrize("size", ["-1", "+99999999999", " 99999999999", "\t9", "0x10", "9" * 30])
def test_a_size_written_oddly_is_refused(desk: Bench, size: str):
    refused(desk, binary("literal", size, b"x"), "not a number")


def test_a_delta_that_cannot_be_read_is_refused(desk: Bench):
    patch = binary("delta", 3, b"x").replace(b"delta 3\n", b"delta 3\nA!!!!!\n")
    refused(desk, patch, "cannot be read")


def test_a_large_honest_binary_passes(desk: Bench):
    desk.write("image.bin", os.urandom(300_000))
    verdict = desk.judge()
    assert judged(desk, verdict.patch).files == verdict.files
