"""The shell grammar on hostile text, and path globs row by row: bounded, total, and stingy."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.contracts.globs import flaw, matches, normalise
from bot.policy.shell import MAX_COMMAND, ShellCommand, parse_shell


def test_a_command_over_the_limit_is_opaque_and_never_parsed():
    assert parse_shell("echo " + "a" * MAX_COMMAND) == ShellCommand(None, ())


@pytest.mark.parametrize("command", ["", " ", "\n", "# only a note"])
def test_nothing_to_run_is_not_proven_simple(command: str):
    assert parse_shell(command).simple is None


WRAPPERS = [
    "python3.12 x.py", "/usr/bin/env ls", "./python x", "make test", "npm run build", "npx eslint",
    "sudo ls", "find . -delete", "git -C . status", "git --exec-path=x status", "git diff --ext-diff",
    "git config alias.x y", "docker run x", "linux64 curl x",
    "x86_64 curl x", "/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x", "ssh-agent curl x",
    "gpg-agent --daemon curl x", "perl5.36-x86_64-linux-gnu -e x", "python3.12-dbg -c x", "vim.tiny +!x",
    "nc.openbsd x 1", "git send-email --sendmail-cmd=x y", "uv tool run x", "docker compose exec x y",
    "go build -toolexec x fmt", "go vet -vettool=x fmt",
    "x86_64-linux-gnu-gcc -wrapper curl,x y.c", "gcc-12 -wrapper curl,x y.c", "cpp -wrapper curl,x y.c",
    "prove -e x y", "pylint --init-hook=x y",
]  # fmt: skip


@pytest.mark.parametrize(
    "command",
    ["git clone -q . y", "git push -u origin x", "go build ./...", "gcc -O2 -c x.c", "pip list", "npm test",
     "base64 x", "sha256sum x", "cargo build", "mypy --strict bot", "npm install --global-style y"],
)  # fmt: skip
def test_what_runs_no_other_command_is_simple(command: str):
    assert parse_shell(command).simple is not None


@pytest.mark.parametrize("command", WRAPPERS)
def test_what_runs_another_command_is_opaque(command: str):
    assert parse_shell(command).simple is None


ODD_TEXT = {
    "a blank of some locales": "echo a\u3000b",
    "a no-break space": "echo a\u00a0b",
    "a zero-width space": "echo 'a\u200bb'",
    "a bidi override": "echo '\u202e'",
    "a carriage return": "echo a\r",
    "an escape": "echo '\x1b[2J'",
    "a blank that is a word's first letter": "echo \\ b",
    "a blank that is a command's name": "\\ ; echo b",
    "a blank that is the line's last word": "echo b; \\ ",
    "a tab that is a command's first letter": "echo a; \\\tb",
    "a tab that is the line's last letter": "echo a\\\t\n",
    "a backslash before a line's end": "echo 'a\\\nb'",
}


@pytest.mark.parametrize("what", ODD_TEXT)
def test_text_that_does_not_show_what_it_is_makes_a_command_opaque(what: str):
    assert parse_shell(ODD_TEXT[what]).simple is None


@given(st.text(max_size=200))
def test_no_text_makes_the_grammar_raise(text: str):
    parse_shell(text)


@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "a && ",
        "$(",
        "`",
        "<<a ",
        "a=(",
        "${",
        "[[ ",
        "if ",
        "{ ",
        "a;",
        "'",
        "<<a\n",
        'bash -c "',
        '\\"',
    ],
)
def test_a_command_of_one_repeated_piece_is_parsed_in_bounded_time(piece: str):
    start = time.process_time()
    parse_shell(piece * (MAX_COMMAND // len(piece)))
    assert time.process_time() - start < 3


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
