"""How a check ended, in the words of `init` and `doctor`."""

import pytest

from bot.cli.trials import result_text
from bot.contracts.outcome import CheckRun, CheckState
from bot.session.local.trial import Trial


@pytest.mark.parametrize(
    ("run", "tests", "text"),
    [
        (CheckRun(CheckState.PASSED, 0, 12.3), 352, "passed, 352 tests, 12 s"),
        (CheckRun(CheckState.PASSED, 0, 0.2), None, "passed, 0 s"),
        (
            CheckRun(CheckState.FAILED, 1, 3.0, "E assert\n== 1 failed ==\n[exit code 1]\n"),
            20, "failed (exit 1, 3 s): == 1 failed ==",
        ),
        (CheckRun(CheckState.FAILED, -11, 3.0), None, "failed (killed by SIGSEGV, 3 s): it printed nothing"),
        (CheckRun(CheckState.TIMED_OUT, note="stopped after 120 s"), None, "too slow: stopped after 120 s"),
        (CheckRun(CheckState.NOT_RUN, note="setup\nfailed"), None, "not run: setup failed"),
        (CheckRun(CheckState.NOT_RUNNABLE, note="no \x1b[31mx"), None, "could not run here: no x"),
    ],
)  # fmt: skip
def test_one_line_says_how_a_check_ended(run: CheckRun, tests: int | None, text: str):
    assert result_text(Trial("a", "make a", run, tests)) == text
