"""What a failed check shows: whether the infrastructure ended it, and what identifies the failure. Pure."""

import hashlib
import re

from bot.contracts.pulls import FailedCheck
from bot.follow_up.situation import Ended

_LOST = re.compile(
    r"lost communication with the server|received a shutdown signal|runner has been (?:terminated|deleted)|"
    r"No space left on device|operation was canceled|Unable to resolve action|Failed to download action|"
    r"(?:connect|read) (?:ETIMEDOUT|ECONNRESET)|Temporary failure in name resolution|"
    r"50[234] (?:Bad Gateway|Service|Gateway)",
    re.IGNORECASE,
)
_ENDED = {
    "ACTION_REQUIRED": Ended.UNAPPROVED,
    **dict.fromkeys(("STARTUP_FAILURE", "STALE", "CANCELLED"), Ended.LOST),
    **dict.fromkeys(("FAILURE", "TIMED_OUT", "ERROR"), Ended.FAILED),
    **dict.fromkeys(("SUCCESS", "NEUTRAL", "SKIPPED"), Ended.PASSED),
}
_ERROR = re.compile(r"\b(?:error|failed|failure|fail|panic|exception|assert\w*)\b", re.IGNORECASE)
_TEST = re.compile(r"(?:FAILED|--- FAIL:|✕|not ok \d+ -?|FAIL:|Failed:?)\s+(\S.{0,200})")
_VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+(?:[.:,]\d+)*|/(?:[\w.@+-]+/)+", re.IGNORECASE)
_MOST_TESTS = 200


def ended_by(state: str) -> Ended:
    """Return how a check ended, from GitHub's word for it; for a failed one `lost_in` looks further."""
    return _ENDED.get(state, Ended.PENDING)


def lost_in(failed: FailedCheck) -> bool:
    """Whether the annotations or the end of the log name the infrastructure as the cause."""
    texts = [*(one.message for one in failed.annotations), *(step.log[-2_000:] for step in failed.steps)]
    return any(map(_LOST.search, texts))


def fingerprint(failed: FailedCheck) -> str:
    """Return what identifies a failure: its check, the failed tests and the first error, without what varies; empty if
    nothing is known of it."""
    text = "\n".join(
        [*(one.message for one in failed.annotations), *(step.log for step in failed.steps), failed.summary]
    )
    if not text.strip():
        return ""
    tests = sorted(set(_TEST.findall(text)))[:_MOST_TESTS]
    first = next((line for line in text.splitlines() if _ERROR.search(line)), "")
    parts = [failed.name, *map(_steady, tests), _steady(first)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


def _steady(line: str) -> str:
    return _VARIES.sub("#", line).strip()
