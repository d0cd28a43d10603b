"""Which failures are the infrastructure's, and which are the same."""

import pytest

from bot.contracts.pulls import Annotation, FailedCheck, FailedStep
from bot.follow_up.failures import ended_by, fingerprint, lost_in
from bot.follow_up.situation import Ended


def failed(log: str, name: str = "test", message: str = "") -> FailedCheck:
    notes = (Annotation(".github", 1, "failure", message),) if message else ()
    return FailedCheck(name, "failure", "", annotations=notes, steps=(FailedStep("make test", log),))


@pytest.mark.parametrize(
    "words",
    [
        "The hosted runner lost communication with the server.",
        "The runner has received a shutdown signal.",
        "OSError: [Errno 28] No space left on device",
        "Error: connect ETIMEDOUT 140.82.112.3:443",
        "curl: (6) Temporary failure in name resolution",
    ],
)
def test_the_infrastructure_is_recognised_by_its_words(words: str):
    assert lost_in(failed(f"ok\n{words}\n"))
    assert lost_in(failed("ok", message=words))


def test_a_failed_test_is_no_failure_of_the_infrastructure():
    assert not lost_in(failed("FAILED tests/test_a.py::test_b - assert 1 == 2\n"))


@pytest.mark.parametrize(
    ("state", "ended"),
    [
        ("SUCCESS", Ended.PASSED), ("NEUTRAL", Ended.PASSED), ("SKIPPED", Ended.PASSED), ("FAILURE", Ended.FAILED),
        ("ERROR", Ended.FAILED), ("TIMED_OUT", Ended.FAILED), ("CANCELLED", Ended.LOST),
        ("STARTUP_FAILURE", Ended.LOST), ("ACTION_REQUIRED", Ended.UNAPPROVED),
        ("IN_PROGRESS", Ended.PENDING), ("EXPECTED", Ended.PENDING),
    ],
)  # fmt: skip
def test_each_word_of_github_has_a_meaning(state: str, ended: Ended):
    assert ended_by(state) is ended


def test_the_same_failure_has_the_same_fingerprint_whatever_varies():
    one = failed(
        "12:00:01 FAILED tests/test_a.py::test_b - took 1.23s in /tmp/x1/y\nError: deadbeef01 is gone"
    )
    other = failed(
        "13:59:59 FAILED tests/test_a.py::test_b - took 9.87s in /tmp/z7/y\nError: cafebabe02 is gone"
    )
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    "other",
    [
        failed("FAILED tests/test_a.py::test_c - assert"),
        failed("FAILED tests/test_a.py::test_b - assert", name="lint"),
        failed("FAILED tests/test_a.py::test_b - assert\nFAILED tests/test_a.py::test_d - assert"),
    ],
)
def test_another_test_or_check_is_another_failure(other: FailedCheck):
    assert fingerprint(failed("FAILED tests/test_a.py::test_b - assert")) != fingerprint(other)
