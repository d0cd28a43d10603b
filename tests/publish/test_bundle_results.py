"""`review.json` and `plan.json` of a bundle: read back as written, and noticed where one of them was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.errors import UsageError
from bot.contracts.plan import Plan, PlanStep
from bot.contracts.pulls import (
    Annotation,
    FailedCheck,
    FailedStep,
    PullRequest,
    PullState,
    ReviewThread,
    Side,
)
from bot.contracts.review import Finding, Review, Severity
from bot.publish.bundle.read import BundleError, parse_plan, parse_review, read_bundle
from bot.publish.bundle.write import Bundle, write_bundle
from tests.support.outcomes import OUTCOME, make_outcome, make_request

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
        Finding(
            "invoice.py",
            9,
            Severity.MAJOR,
            "Rounded twice",
            "Once is enough.",
            8,
            Side.RIGHT,
            "x = 1\n",
            "x\n",
        ),
        Finding("README.md", 0, Severity.NOTE, "Not said", ""),
    ),
    since_sha="c" * 40,
    left_out=("3 files over the limit",),
)
PULL = PullRequest(
    9, PullState.OPEN, False, False, "ghost", 0, "b" * 40, "fix/#1-'quoted'", "", "main", "a" * 40
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bundle = tmp_path / "bundle"
    write_bundle(Bundle(bundle, OUTCOME, review=REVIEW, plan=PLAN))
    return bundle


def test_a_review_and_a_plan_are_read_back_as_they_were_written(folder: Path) -> None:
    bundle = read_bundle(folder)
    assert (bundle.review, bundle.plan) == (REVIEW, PLAN)
    assert bundle.plan is not None
    assert bundle.plan.hash == PLAN.hash


def changed(folder: Path, name: str) -> None:
    (folder / name).write_text((folder / name).read_text() + "\n")


def gone(folder: Path, name: str) -> None:
    (folder / name).unlink()


def not_stated(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    write_bundle(Bundle(folder, OUTCOME))
    assert not (folder / name).exists()
    (folder / name).write_bytes(content)


@pytest.mark.parametrize("happens", [changed, gone, not_stated])
@pytest.mark.parametrize("name", ["review.json", "plan.json"])
def test_a_file_that_is_not_the_stated_one_is_noticed(
    folder: Path, name: str, happens: Callable[[Path, str], None]
) -> None:
    happens(folder, name)
    with pytest.raises(BundleError, match=name):
        read_bundle(folder)


WRONG_PLANS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a title of two lines": lambda p: p.update(title="a\nb"),
    "no steps": lambda p: p.update(steps=[]),
    "a long step": lambda p: p["steps"][0].update(text="x" * 1001),
    "a path upwards": lambda p: p["steps"][0].update(paths=["../x"]),
    "a negative estimate": lambda p: p.update(estimate_turns=-1),
    "turns as text": lambda p: p.update(estimate_turns="12"),
    "a field too many": lambda p: p.update(approved=True),
}


@pytest.mark.parametrize("name", WRONG_PLANS)
def test_a_plan_that_is_none_is_refused_in_one_sentence(name: str) -> None:
    data = json.loads(PLAN.canonical)
    WRONG_PLANS[name](data)
    with pytest.raises(UsageError, match=r"plan\.json is not a valid plan") as caught:
        parse_plan(json.dumps(data).encode())
    assert len(str(caught.value).splitlines()) == 1


def test_a_plan_has_the_same_hash_wherever_it_is_read() -> None:
    assert parse_plan(PLAN.canonical.encode()).hash == PLAN.hash
    assert parse_plan(json.dumps(asdict(PLAN), indent=4).encode()).hash == PLAN.hash
    assert replace(PLAN, estimate_turns=13).hash != PLAN.hash


WRONG_REVIEWS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a head that is no commit": lambda r: r.update(head_sha="main"),
    "a path upwards": lambda r: r["findings"][0].update(path="a/../../b"),
    "a start after the line": lambda r: r["findings"][0].update(start_line=10),
    "an unknown severity": lambda r: r["findings"][0].update(severity="blocker"),
    "a fingerprint that is none": lambda r: r["findings"][0].update(fingerprint="-->"),
    "a body without end": lambda r: r["findings"][0].update(body="x" * (65 << 10)),
    "findings without end": lambda r: r.update(findings=r["findings"] * 600),
    "an approval": lambda r: r.update(event="APPROVE"),
}


@pytest.mark.parametrize("name", WRONG_REVIEWS)
def test_a_review_that_is_none_is_refused_in_one_sentence(name: str) -> None:
    data = asdict(REVIEW)
    WRONG_REVIEWS[name](data)
    with pytest.raises(UsageError, match=r"review\.json is not a valid review") as caught:
        parse_review(json.dumps(data).encode())
    assert len(str(caught.value).splitlines()) == 1


FAILURE = FailedCheck(
    "tests",
    "failure",
    "https://github.test/octo/hello/runs/1",
    annotations=(Annotation("x.py", 1, "failure", "no"),),
    steps=(FailedStep("pytest", "E assert 1 == 2"),),
)
OPEN_THREAD = ReviewThread(5, "invoice.py", 9, 0, Side.RIGHT, "@@ -1 +1 @@", ())


def test_an_outcome_of_a_pull_request_is_read_back(folder: Path) -> None:
    request = make_request(
        pull=PULL,
        anchor=OPEN_THREAD,
        unresolved=(OPEN_THREAD,),
        failures=(FAILURE,),
        plan=PLAN,
        trusted_sha="b" * 40,
        resumes=77,
        task="dead-links",
    )
    write_bundle(Bundle(folder, make_outcome(request=request, answer="So.", question="Which?")))
    assert read_bundle(folder).outcome.request == request


WRONG_REQUESTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "a head that is an option": lambda r: r["pull"].update(head_sha="--upload-pack=x"),
    "a head's repository upwards": lambda r: r["pull"].update(head_repository="a/.."),
    "a trusted commit cut short": lambda r: r.update(trusted_sha="b" * 12),
    "a plan without steps": lambda r: r["plan"].update(steps=[]),
    "a task that is a path": lambda r: r.update(task="../x"),
    "a thread without an id": lambda r: r["anchor"].update(id=0),
    "a failure with an address that is none": lambda r: r["failures"][0].update(url="javascript:alert(1)"),
}


@pytest.mark.parametrize("name", WRONG_REQUESTS)
def test_a_tampered_pull_request_is_refused(folder: Path, name: str) -> None:
    request = make_request(pull=PULL, anchor=OPEN_THREAD, failures=(FAILURE,), plan=PLAN)
    write_bundle(Bundle(folder, make_outcome(request=request)))
    data = json.loads((folder / "outcome.json").read_text())
    WRONG_REQUESTS[name](data["request"])
    (folder / "outcome.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match=r"outcome\.json is not a valid outcome: request"):
        read_bundle(folder)
