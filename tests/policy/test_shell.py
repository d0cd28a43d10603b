"""The shell grammar on hostile text: bounded, total, and stingy."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
