"""A script of CI is taken apart in bounded time, whatever it holds."""

import subprocess
import sys
import time

from bot.environment.scripts import statements

BEYOND_THE_TABLE = ["{\U0010ffff", "{1\U000fffff..3}", "{1..\U0010ffff}", "{1..2\uffff}", "{\ud800"]


def test_no_letter_is_beyond_what_the_parsers_scanner_can_look_up():
    """In a process of its own: it was the end of it."""
    code = f"from bot.environment.scripts import statements\nfor c in {BEYOND_THE_TABLE!r} * 50: statements('ls ' + c)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_script_that_takes_the_parser_too_long_is_one_statement():
    script = "ls " + "[a;" * 2_700
    started = time.process_time()
    assert [one.text for one in statements(script)] == [script]
    assert time.process_time() - started < 3
