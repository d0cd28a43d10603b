"""Path globs, row by row, and in bounded time."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.globs import flaw, matches, normalise

MATCHING = [
    ("README.md", "README.md"), ("*.md", "README.md"), ("docs/*.md", "docs/a.md"), ("docs/**", "docs/a/b.md"),
    ("docs/", "docs/a/b.md"), ("docs", "docs/a/b.md"), ("docs", "docs"), ("**/*.lock", "uv.lock"),
    ("**/*.lock", "a/b/uv.lock"), ("a/**/z", "a/z"), ("a/**/z", "a/b/c/z"),
    ("**/test_*/**/*.py", "x/test_a/y/z.py"), ("file?.txt", "file1.txt"),
    ("app/[id]/page.tsx", "app/[id]/page.tsx"), ("*a*b", "xaxb"), ("**", "anything/at/all"),
]  # fmt: skip

OTHERS = [
    ("*.md", "docs/a.md"), ("docs/*.md", "docs/a/b.md"), ("docs", "docs2/a"), ("docs/*", "docs"),
    ("README.md", "readme.md"), ("a/**/z", "a/b/zz"), ("file?.txt", "file.txt"),
    ("app/[id]/page.tsx", "app/i/page.tsx"), ("*a*b", "xaxbx"), ("src/?", "src/ab"),
]  # fmt: skip


@pytest.mark.parametrize(("glob", "path"), MATCHING)
def test_a_glob_covers_the_path(glob: str, path: str):
    assert matches(glob, path)


@pytest.mark.parametrize(("glob", "path"), OTHERS)
def test_a_glob_leaves_the_path_alone(glob: str, path: str):
    assert not matches(glob, path)


FLAWED = ["", "/src", "../x", "a/../b", "./a", "a//b", "a\\b", "*.{js,ts}", "a**/b"]


@pytest.mark.parametrize("glob", FLAWED)
def test_a_glob_that_can_never_match_has_a_flaw(glob: str):
    assert flaw(glob)


@pytest.mark.parametrize("glob", [glob for glob, _ in MATCHING])
def test_a_glob_that_matches_has_no_flaw(glob: str):
    assert flaw(glob) == ""


PLAIN = [
    ("a/b", "a/b"), ("./a/../b", "b"), ("a//b/", "a/b"), (".", "."), ("/tree/a/b", "a/b"),
    ("/tree/../tree/a", "a"), ("/elsewhere/a", None), ("../a", None), ("a/../../b", None),
]  # fmt: skip


@pytest.mark.parametrize(("path", "plain"), PLAIN)
def test_a_path_is_made_relative_to_the_root(path: str, plain: str | None):
    assert normalise(path, "/tree") == plain


@given(st.text(alphabet="ab*?/", min_size=1, max_size=12), st.text(alphabet="ab/", min_size=1, max_size=12))
def test_matching_agrees_with_a_regular_expression(glob: str, path: str):
    if flaw(glob) or "//" in path or path.startswith("/") or path.endswith("/"):
        return
    spelled = ""
    for name in glob.removesuffix("/").split("/"):
        if name == "**":
            spelled += "(?:/[^/]+)*"
        else:
            spelled += "/" + name.replace("*", "[^/]*").replace("?", "[^/]")
    if glob.endswith("/") or not re.search(r"[*?]", glob):
        spelled += "(?:/[^/]+)*"
    assert matches(glob, path) == bool(re.fullmatch(spelled, "/" + path))


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("*a" * 100 + "b", "a" * 4000),
        ("**/a/" * 50 + "b", "a/" * 2000 + "c"),
        ("**/*a*a*a*b/" * 10 + "c", "a" * 200),
    ],
)
def test_a_name_made_to_be_slow_is_not(glob: str, path: str):
    start = time.process_time()
    assert not matches(glob, path)
    assert time.process_time() - start < 1
