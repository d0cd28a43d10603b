"""Validate values of a bundle beyond their types: object names, addresses, times, counts, lengths. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from datetime import datetime

from bot.contracts.outcome import Outcome
from bot.contracts.plan import is_inside
from bot.contracts.pulls import PullRequest, ReviewThread
from bot.contracts.request import Request, Triage
from bot.contracts.review import Finding, Review
from bot.verbs.registry import VERBS

MAX_BUNDLE_FINDINGS = 1_000
_MAX_TITLE = 500
_MAX_TEXT = 64 << 10

_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REPOSITORY = re.compile(r"[A-Za-z0-9-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(?:\[bot\])?")
_URL = re.compile(r"(?:https?://[^\s<>\"'`\\()\[\]]{1,2000})?")
_REF = re.compile(r"(?!-)[^\x00-\x20\x7f~^:?*\[\\]{1,255}")
# A person's branch may begin with a hyphen; it is never the beginning of an argument.
_HEAD_REF = re.compile(r"[^\x00-\x20\x7f~^:?*\[\\]{1,255}")
_TASK = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

_Rule = tuple[str, str, object]


def outcome_error(outcome: Outcome) -> str:
    """Return `field: reason` for the first invalid value, empty if there is none."""
    numbers = (
        outcome.cost,
        *(run.duration for check in outcome.checks for run in (check.before, check.after)),
    )
    hashes = ("review_sha256", "plan_sha256", "writes_sha256")
    wrong = _first_wrong(
        (
            ("base_sha", "not a full object name", _SHA.fullmatch(outcome.base_sha)),
            ("patch_sha256", "not a SHA-256", _SHA256.fullmatch(outcome.patch_sha256)),
            *(
                (name, "not a SHA-256", _SHA256.fullmatch(getattr(outcome, name) or "0" * 64))
                for name in hashes
            ),
            ("started_at", "not an RFC 3339 time in UTC", _is_time(outcome.started_at)),
            ("ended_at", "not an RFC 3339 time in UTC", _is_time(outcome.ended_at)),
            ("cost", "not a finite positive number", all(math.isfinite(n) and n >= 0 for n in numbers)),
            ("turns", "negative", outcome.turns >= 0),
            ("usage", "negative", min(asdict(outcome.usage).values()) >= 0),
            ("request.verb", "no verb", outcome.request.verb in VERBS),
            *_request_rules(outcome.request),
        )
    )
    return wrong or evidence_error(outcome)


def review_error(review: Review) -> str:
    """As `outcome_error`."""
    count = len(review.findings)
    rules: tuple[_Rule, ...] = (
        ("base_sha", "not a full object name", _SHA.fullmatch(review.base_sha)),
        ("head_sha", "not a full object name", _SHA.fullmatch(review.head_sha)),
        ("since_sha", "not a full object name", not review.since_sha or _SHA.fullmatch(review.since_sha)),
        ("summary", f"over {_MAX_TEXT:,} characters", len(review.summary) <= _MAX_TEXT),
        (
            "findings",
            f"{count:,} are over the limit of {MAX_BUNDLE_FINDINGS:,}",
            count <= MAX_BUNDLE_FINDINGS,
        ),
        ("left_out", f"over {MAX_BUNDLE_FINDINGS:,}", len(review.left_out) <= MAX_BUNDLE_FINDINGS),
    )
    if wrong := _first_wrong(rules):
        return wrong
    for number, finding in enumerate(review.findings):
        if wrong := _first_wrong(_finding_rules(finding)):
            return f"findings.{number}.{wrong}"
    return ""


def _finding_rules(finding: Finding) -> tuple[_Rule, ...]:
    texts = (finding.body, finding.text, finding.suggestion or "")
    return (
        ("path", "not a path inside the repository", is_inside(finding.path)),
        ("line", "negative", finding.line >= 0),
        ("start_line", "not before the line", 0 <= finding.start_line <= finding.line),
        ("title", f"over {_MAX_TITLE} characters", len(finding.title) <= _MAX_TITLE),
        ("body", f"over {_MAX_TEXT:,} characters", all(len(text) <= _MAX_TEXT for text in texts)),
        ("fingerprint", "not lower-case hex", re.fullmatch(r"[0-9a-f]{0,64}", finding.fingerprint)),
    )


def _request_rules(request: Request) -> tuple[_Rule, ...]:
    thread, trigger = request.thread, request.trigger
    return (
        ("request.repository", "not owner/name", _is_repository(request.repository)),
        ("request.actor.login", "not a login", _LOGIN.fullmatch(request.actor.login)),
        ("request.actor.id", "negative", request.actor.id >= 0),
        ("request.base_ref", "not a branch name", not request.base_ref or _REF.fullmatch(request.base_ref)),
        ("request.thread.number", "not positive", thread is None or thread.number > 0),
        ("request.thread.url", "not a web address", thread is None or _URL.fullmatch(thread.url)),
        ("request.trigger.comment_id", "negative", trigger is None or trigger.comment_id >= 0),
        ("request.trigger.url", "not a web address", trigger is None or _URL.fullmatch(trigger.url)),
        ("request.trigger.at", "not an RFC 3339 time in UTC", trigger is None or _is_time(trigger.at)),
        (
            "request.trusted_sha",
            "not a full object name",
            not request.trusted_sha or _SHA.fullmatch(request.trusted_sha),
        ),
        ("request.plan", "not a plan", request.plan is None or not request.plan.problem),
        ("request.resumes", "negative", request.resumes >= 0),
        ("request.task", "not the name of a task", not request.task or _TASK.fullmatch(request.task)),
        *_triage_rules(request.triage),
        *(_pull_rules(request.pull) if request.pull is not None else ()),
        *_thread_rules((*([request.anchor] if request.anchor else []), *request.unresolved)),
        *(("request.failures.url", "not a web address", _URL.fullmatch(f.url)) for f in request.failures),
    )


def _triage_rules(triage: Triage | None) -> Iterable[_Rule]:
    if triage is None:
        return
    yield "request.triage.at", "not an RFC 3339 time in UTC", _is_time(triage.at)
    for thread in triage.threads:
        yield "request.triage.number", "not positive", thread.state.number > 0


def _pull_rules(pull: PullRequest) -> tuple[_Rule, ...]:
    return (
        ("request.pull.number", "not positive", pull.number > 0),
        ("request.pull.author", "not a login", _LOGIN.fullmatch(pull.author)),
        ("request.pull.author_id", "negative", pull.author_id >= 0),
        ("request.pull.head_sha", "not a full object name", _SHA.fullmatch(pull.head_sha)),
        ("request.pull.base_sha", "not a full object name", _SHA.fullmatch(pull.base_sha)),
        ("request.pull.head_ref", "not a branch name", _HEAD_REF.fullmatch(pull.head_ref)),
        ("request.pull.base_ref", "not a branch name", _REF.fullmatch(pull.base_ref)),
        ("request.pull.head_repository", "not owner/name", _is_repository(pull.head_repository)),
    )


def _thread_rules(threads: Iterable[ReviewThread]) -> Iterable[_Rule]:
    for thread in threads:
        yield "request.unresolved.id", "not positive", thread.id > 0
        yield "request.unresolved.line", "negative", min(thread.line, thread.start_line) >= 0


def _first_wrong(rules: Iterable[_Rule]) -> str:
    return next((f"{field}: {why}" for field, why, right in rules if not right), "")


def _is_repository(name: str) -> bool:
    """Whether `name` is `owner/name` or empty (a local checkout without a remote, or a deleted fork)."""
    return not name or _REPOSITORY.fullmatch(name) is not None


def _is_time(text: str) -> bool:
    try:
        offset = datetime.fromisoformat(text).utcoffset()
    except ValueError:
        return False
    return offset is not None and not offset


MAX_TOOLS = 100
MAX_LISTED = 2_000
"""Far above any real run, and low enough that rendering is fast."""

_MAX_NUMBER = 10**9


def evidence_error(outcome: Outcome) -> str:
    """As `outcome_error`, for checks, diagnostics, servers and coverage."""
    for field, most in (("checks", MAX_LISTED), ("diagnostics", MAX_TOOLS), ("servers", MAX_TOOLS)):
        if (number := len(getattr(outcome, field))) > most:
            return f"{field}: {number:,} are over the limit of {most:,}"
    for field in ("checks", "diagnostics", "coverage"):
        if wrong := _unbounded(getattr(outcome, field)):
            return f"{field}{wrong}"
    measured = outcome.coverage.files if outcome.coverage else ()
    if any(file.covered > file.measured for file in measured):
        return "coverage.files: more lines run than there are"
    return ""


def _unbounded(value: object) -> str:
    """Return where and why a list in `value` is too long, or a number is negative or too large; an exit code may be
    negative."""
    if isinstance(value, int | float):
        right = math.isfinite(value) and 0 <= value <= _MAX_NUMBER
        return "" if right else ": a number is negative or out of range"
    if isinstance(value, tuple):
        if len(value) > MAX_LISTED:
            return f": {len(value):,} are over the limit of {MAX_LISTED:,}"
        return next(filter(None, map(_unbounded, value)), "")
    if not is_dataclass(value):
        return ""
    parts = ((one.name, getattr(value, one.name)) for one in fields(value) if one.name != "exit_code")
    return next((f".{name}{wrong}" for name, part in parts if (wrong := _unbounded(part))), "")
