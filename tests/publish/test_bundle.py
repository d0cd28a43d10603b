"""The bundle: what is written is read back, and what was tampered with is refused in one sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from bot.contracts.errors import AgentError, ExitCode, UsageError
from bot.contracts.outcome import Outcome
from bot.contracts.plan import Plan, PlanStep
from bot.contracts.pulls import (
    Annotation,
    Comment,
    FailedCheck,
    FailedStep,
    Finding,
    PullRequest,
    PullState,
    Review,
    ReviewThread,
    Severity,
    Side,
)
from bot.contracts.records import as_data
from bot.publish.bundle import OUTCOME as FILE
from bot.publish.bundle import Bundle, BundleError, as_text, outcome_schema, parse, read_bundle, write_bundle
from bot.publish.bundle_rules import MAX_LISTED, invalid_field
from tests.publish.test_body import FULL
from tests.support.outcomes import EVIDENCE, OUTCOME, REQUEST, make_outcome, make_request, problem

PATCH = b"diff --git a/x b/x\n\x00binary\xff\n"
PLAN = Plan(
    "Sum totals exactly",
    (PlanStep("Sum in cents", ("invoice.py", "tests/test_invoice.py")), PlanStep("Round once — at the end")),
    risks="Callers may rely on the old rounding.",
    estimate_turns=12,
)
REVIEW = Review(
    "a" * 40,
    "b" * 40,
    "One thing to mend.",
    (
        Finding("invoice.py", 9, Severity.MAJOR, "Rounded twice", "Once.", 8, Side.RIGHT, "x = 1\n", "x\n"),
        Finding("README.md", 0, Severity.NOTE, "Not said", ""),
    ),
    since_sha="c" * 40,
    left_out=("3 files over the limit",),
)
PULL = PullRequest(9, PullState.OPEN, False, "ghost", "b" * 40, "fix/#1-'quoted'", "", "main", "a" * 40)
FAILURE = FailedCheck(
    "tests",
    "failure",
    "https://github.test/octo/hello/runs/1",
    annotations=(Annotation("x.py", 1, "failure", "no"),),
    steps=(FailedStep("pytest", "E assert 1 == 2"),),
)
OPEN_THREAD = ReviewThread(5, "invoice.py", 9, 0, Side.RIGHT, "@@ -1 +1 @@", ())
ON_PULL = make_request(pull=PULL, anchor=OPEN_THREAD, failures=(FAILURE,), plan=PLAN)
STATED = EVIDENCE._replace(patch_sha256="0" * 64)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle = tmp_path / "bundle"
    write_bundle(Bundle(bundle, OUTCOME, PATCH, b"held back", "Subject\n\nBody ü\n", REVIEW, PLAN))
    (bundle / "report.html").write_text("<html>")
    return bundle


def test_a_bundle_is_read_back_as_it_was_written(folder: Path):
    bundle = read_bundle(folder)
    assert bundle.patch == PATCH
    assert bundle.withheld == b"held back"
    assert bundle.message == "Subject\n\nBody ü\n"
    assert (bundle.review, bundle.plan) == (REVIEW, PLAN)
    assert bundle.outcome.request == OUTCOME.request
    assert bundle.outcome.checks == OUTCOME.checks
    request = ON_PULL._replace(unresolved=(OPEN_THREAD,), trusted_sha="b" * 40, resumes=77, task="dead-links")
    write_bundle(Bundle(folder, make_outcome(request=request, answer="So.", question="Which?")))
    assert read_bundle(folder).outcome.request == request
    assert parse(Outcome, json.dumps(as_data(STATED)).encode()) == STATED


def test_a_thread_too_long_for_the_outcome_is_left_to_the_journal(tmp_path: Path):
    comments = tuple(Comment(n, "bob", "x" * 60_000, OUTCOME.ended_at, OUTCOME.ended_at) for n in range(200))
    assert REQUEST.thread is not None
    request = make_request(thread=REQUEST.thread._replace(comments=comments))
    write_bundle(Bundle(tmp_path / "b", make_outcome(request=request), PATCH))
    thread = read_bundle(tmp_path / "b").outcome.request.thread
    assert thread is not None
    assert (thread.number, thread.comments) == (7, ())
    assert "journal" in thread.left_out[-1]


def test_a_lone_surrogate_loses_no_bundle(tmp_path: Path):
    request = make_request(instruction="caf\udce9 \ud83d")
    write_bundle(Bundle(tmp_path / "b", make_outcome(request=request, reason="\udcff"), PATCH, b"", "\udcff"))
    bundle = read_bundle(tmp_path / "b")
    assert (bundle.outcome.request.instruction, bundle.message) == ("caf? ?", "?")


def test_a_bundle_is_replaced_whole(folder: Path):
    (folder / "journal.jsonl").write_text('{"a": 1}\n')
    write_bundle(Bundle(folder, make_outcome(turns=9), b"new"), folder / "journal.jsonl")
    bundle = read_bundle(folder)
    assert (bundle.outcome.turns, bundle.patch, bundle.withheld, bundle.plan) == (9, b"new", b"", None)
    assert {path.name for path in folder.iterdir()} == {
        "outcome.json", "changes.patch", "message.md", "journal.jsonl",
    }  # fmt: skip


def test_an_interrupted_write_leaves_no_bundle(tmp_path: Path, folder: Path):
    with pytest.raises(AgentError, match="could not be written"):
        write_bundle(Bundle(folder, OUTCOME, b"new"), tmp_path / "missing.jsonl")
    with pytest.raises(BundleError) as caught:
        read_bundle(folder)
    assert caught.value.exit_code is ExitCode.USAGE
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["outcome.json", "changes.patch", "message.md", "review.json", "plan.json"])
def test_a_missing_file_is_refused(folder: Path, name: str):
    (folder / name).unlink()
    with pytest.raises(BundleError, match=name):
        read_bundle(folder)


@pytest.mark.parametrize("name", ["changes.patch", "review.json", "plan.json"])
def test_a_file_that_is_not_the_stated_one_is_noticed(folder: Path, name: str):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content + b"\n")
    with pytest.raises(BundleError, match=f"{name}.*hash differs"):
        read_bundle(folder)
    write_bundle(Bundle(folder, OUTCOME))
    (folder / name).write_bytes(content)
    with pytest.raises(BundleError, match=f"{name}.*hash differs"):
        read_bundle(folder)


def test_an_outcome_over_the_size_cap_is_not_read(folder: Path):
    with (folder / "outcome.json").open("ab") as file:
        file.truncate(9 << 20)
    with pytest.raises(BundleError, match="limit"):
        read_bundle(folder)


Change = Callable[[dict[str, Any]], object]
TAMPERED: dict[str, Change] = {
    "unknown field": lambda o: o.update(extra=1),
    "unknown field deep inside": lambda o: o["request"]["actor"].update(admin=True),
    "missing field": lambda o: o.pop("base_sha"),
    "another schema": lambda o: o.update(schema=2),
    "number as text": lambda o: o.update(turns="3"),
    "unknown status": lambda o: o.update(status="merged"),
    "unknown tier": lambda o: o["request"]["actor"].update(tier="owner"),
    "base as option": lambda o: o.update(base_sha="--upload-pack=x"),
    "base branch as option": lambda o: o["request"].update(base_ref="--all"),
    "repository with a path": lambda o: o["request"].update(repository="a/b/../../c"),
    "repository upwards": lambda o: o["request"].update(repository="a/.."),
    "login with a newline": lambda o: o["request"]["actor"].update(login="a\nSigned-off-by: x"),
    "negative id": lambda o: o["request"]["actor"].update(id=-1),
    "thread number zero": lambda o: o["request"]["thread"].update(number=0),
    "link to a script": lambda o: o["request"]["trigger"].update(url="javascript:alert(1)"),
    "link that leaves its brackets": lambda o: o["request"]["trigger"].update(url="https://x/)![](y"),
    "time as prose": lambda o: o.update(ended_at="yesterday"),
    "negative cost": lambda o: o.update(cost=-1),
    "a number with thousands of digits": lambda o: o["usage"].update(input=10**4000),
    "a field with control characters": lambda o: o.update({"\x1b[2J\n::error::": 1}),
    "a head that is an option": lambda o: o["request"]["pull"].update(head_sha="--upload-pack=x"),
    "a head's repository upwards": lambda o: o["request"]["pull"].update(head_repository="a/.."),
    "a trusted commit cut short": lambda o: o["request"].update(trusted_sha="b" * 12),
    "a plan without steps": lambda o: o["request"]["plan"].update(steps=[]),
    "a task that is a path": lambda o: o["request"].update(task="../x"),
    "a thread without an id": lambda o: o["request"]["anchor"].update(id=0),
    "a failure without an address": lambda o: o["request"]["failures"][0].update(url="javascript:alert(1)"),
    "an answer that is none": lambda o: o["diagnostics"][0]["before"].update(answer="clean"),
    "a line as text": lambda o: o["diagnostics"][0]["new"][0].update(line="3"),
    "a field nobody knows": lambda o: o["servers"][0].update(html="<b>"),
    "servers as an object": lambda o: o.update(servers={}),
}
WRONG_PLANS: dict[str, Change] = {
    "a title of two lines": lambda p: p.update(title="a\nb"),
    "no steps": lambda p: p.update(steps=[]),
    "a long step": lambda p: p["steps"][0].update(text="x" * 1001),
    "a path upwards": lambda p: p["steps"][0].update(paths=["../x"]),
    "a negative estimate": lambda p: p.update(estimate_turns=-1),
    "turns as text": lambda p: p.update(estimate_turns="12"),
    "a field too many": lambda p: p.update(approved=True),
}
WRONG_REVIEWS: dict[str, Change] = {
    "a head that is no commit": lambda r: r.update(head_sha="main"),
    "a path upwards": lambda r: r["findings"][0].update(path="a/../../b"),
    "a start after the line": lambda r: r["findings"][0].update(start_line=10),
    "an unknown severity": lambda r: r["findings"][0].update(severity="blocker"),
    "a fingerprint that is none": lambda r: r["findings"][0].update(fingerprint="-->"),
    "findings without end": lambda r: r.update(findings=r["findings"] * 1_100),
    "an approval": lambda r: r.update(event="APPROVE"),
}
READ: dict[str, object] = {"outcome": STATED._replace(request=ON_PULL), "plan": PLAN, "review": REVIEW}
CASES = [
    (kind, name, change)
    for kind, changes in (("outcome", TAMPERED), ("plan", WRONG_PLANS), ("review", WRONG_REVIEWS))
    for name, change in changes.items()
]


@pytest.mark.parametrize(("kind", "name", "change"), CASES, ids=[f"{one[0]}: {one[1]}" for one in CASES])
def test_what_was_tampered_with_is_one_printable_sentence(kind: str, name: str, change: Change):
    value = READ[kind]
    data = json.loads(json.dumps(as_data(value)))  # type: ignore[call-overload]  # dataclasses
    assert parse(type(value), json.dumps(data).encode()) == value
    change(data)
    with pytest.raises(UsageError, match=rf"^{kind}\.json is not a valid {kind}: ") as caught:
        parse(type(value), json.dumps(data).encode())
    assert str(caught.value).isprintable()


RAW = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "deep": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "not UTF-8": b'{"schema": "\xff"}',
    "not a number": b'{"schema": 1, "cost": NaN}',
    "infinite": b'{"schema": 1, "cost": Infinity}',
    "half a character": b'{"schema": 1, "reason": "\\ud800"}',
    "null": b"null",
}


@pytest.mark.parametrize("name", RAW)
def test_bytes_that_are_no_outcome_are_refused(name: str):
    with pytest.raises(UsageError):
        parse(Outcome, RAW[name])


def test_a_plan_has_the_same_hash_wherever_it_is_read(folder: Path):
    for raw in (PLAN.canonical, json.dumps(as_data(PLAN), indent=4), (folder / "plan.json").read_text()):
        assert parse(Plan, raw.encode()).hash == PLAN.hash
    assert PLAN._replace(estimate_turns=13).hash != PLAN.hash


RUFF = EVIDENCE.diagnostics[0]


def with_ruff(**fields: Any) -> Outcome:
    return STATED._replace(diagnostics=(RUFF._replace(**fields),))


def with_tests(**fields: Any) -> Outcome:
    (check,) = EVIDENCE.checks
    assert check.tests is not None
    return STATED._replace(checks=(check._replace(tests=check.tests._replace(**fields)),))


WRONG = {
    "a checker's count is negative": (with_ruff(new_count=-1), "diagnostics"),
    "a time is not a number": (with_ruff(before=RUFF.before._replace(duration=float("nan"))), "diagnostics"),
    "a line is negative": (with_ruff(new=(problem(-3),)), "diagnostics.new.line: a number"),
    "too many problems": (with_ruff(new=(problem(),) * (MAX_LISTED + 1)), "diagnostics.new: 2,001"),
    "too many projects": (with_ruff(projects=("x",) * (MAX_LISTED + 1)), "diagnostics.projects: 2,001"),
    "too many checkers": (STATED._replace(diagnostics=(RUFF,) * (MAX_LISTED + 1)), "diagnostics: 2,001"),
    "too many checks": (STATED._replace(checks=EVIDENCE.checks * 2_001), "checks: 2,001"),
    "a count of tests is negative": (with_tests(counts=(("mended", -2),)), "checks.tests.counts: a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_evidence_that_no_run_could_have_is_refused_with_its_field(name: str):
    outcome, field = WRONG[name]
    assert invalid_field(STATED) == ""
    assert invalid_field(outcome).startswith(field)


# The published schema


PUBLISHED = Path(__file__).parents[2] / "docs" / "outcome.schema.json"


@pytest.fixture(scope="module")
def validator() -> Draft202012Validator:
    return Draft202012Validator(json.loads(PUBLISHED.read_text(encoding="utf-8")))


def errors(validator: Draft202012Validator, data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(data)]


def test_the_published_schema_is_the_one_of_the_code():
    assert PUBLISHED.read_text(encoding="utf-8") == as_text(), "run `make schema`"
    Draft202012Validator.check_schema(outcome_schema())


@pytest.mark.parametrize("outcome", [OUTCOME, FULL, EVIDENCE], ids=["plain", "full", "evidence"])
def test_a_bundles_outcome_fits(outcome: Outcome, validator: Draft202012Validator, tmp_path: Path):
    write_bundle(Bundle(tmp_path, outcome, b"", b"", "m"))
    assert errors(validator, json.loads((tmp_path / FILE).read_bytes())) == []
