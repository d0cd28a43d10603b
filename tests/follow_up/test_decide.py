"""The decision, as a table and through a month of 200 pull requests with random CI, reviews and pushes, with a virtual
clock; and what a failure is taken for."""

import random
from typing import Any

import pytest

from bot.contracts.pulls import Annotation, FailedCheck, FailedStep
from bot.follow_up.decide import decide
from bot.follow_up.failures import ended_by, fingerprint, lost_in
from bot.follow_up.situation import (
    ROUNDS,
    AskApproval,
    Check,
    Ended,
    Kind,
    MarkReady,
    Mergeable,
    Rerun,
    Situation,
    Spent,
    StartRound,
    Step,
    Stop,
    Update,
    Wait,
)
from bot.policy.follow_up import FollowUpPolicy
from slash_forge.bundled import MAINTAINER
from tests.follow_up.conftest import BRANCH, Followed
from tests.support.model_script import Call, Say

HEAD, OLD, TIP = "a" * 40, "b" * 40, "c" * 40
RED = Check("test", Ended.FAILED, required=True, run=7, fingerprint="f1", on_merge_base=Ended.PASSED)
GREEN, PENDING = Check("lint", Ended.PASSED), Check("lint", Ended.PENDING)
OPTIONAL = RED._replace(name="lint", required=False)
LOST = RED._replace(ended=Ended.LOST, fingerprint="")
FLAKY = RED._replace(flaky=True)
OLD_RED = RED._replace(on_merge_base=Ended.FAILED, on_base_tip=Ended.PASSED)
BASE_RED = RED._replace(on_base_tip=Ended.FAILED, base_url="https://x/1")
UNAPPROVED = Check("ci", Ended.UNAPPROVED, url="https://x/2")
CANCELLED = LOST._replace(name="other python")
OTHER, LOST_TWICE = RED._replace(name="docs", run=8), LOST._replace(run=9)
TWICE = {"spent": Spent(done=frozenset({HEAD}))}
THREAD, BY_BOT = 0, 99
QUESTIONS = Stop("Only questions are left, in 1 open thread.", "answer there, then `/agent follow`")
CLEAN = Situation(number=3, head=HEAD, base_tip=TIP)


def spent(**counts: int) -> Spent:
    return Spent(counts=counts)


ROWS: list[tuple[str, dict[str, Any], Step]] = [
    ("a merged one is over", {"over": "merged"}, Stop("The pull request is merged.", "nobody")),
    ("a queued one is never pushed to", {"over": "in the merge queue", "checks": (RED,)},
     Stop("The pull request is in the merge queue.", "nobody")),
    ("a stopped one stays stopped", {"stopped": "why", "checks": (RED,)}, Wait("it was stopped: why")),
    ("a round at a time", {"running": True, "checks": (RED,)}, Wait("a round is under way")),
    ("so does a label", {"labelled": True, "checks": (RED,)}, Stop("It has the label `agent-stop`.")),
    ("somebody's commit ends it", {"others": (OLD,), "checks": (RED,)},
     Stop("Somebody else committed to the branch: bbbbbbbbbbbb.")),
    ("the sixth round was the last", {"spent": spent(fix=2, review=3, conflict=1)}, Stop("All 6 rounds are used.")),
    ("bundles that Actions keeps count, whatever the comment says",
     {"spent": Spent(bundles=6), "checks": (RED,)}, Stop("All 6 rounds are used.")),
    ("only questions are left", {"checks": (GREEN,), "unanswered": 1}, QUESTIONS),
    ("no update with a workflow of the base", {"checks": (OLD_RED,), "workflows_block": True},
     Stop("The base branch changed a workflow file, which the token of this bot may not push: merge the base.")),
    ("updates are no rounds", {"spent": spent(fix=2, review=2, update=2), "checks": (RED,)},
     StartRound(Kind.FIX, (RED,))),
    ("the money is spent", {"spent": Spent(usd=3.0), "checks": (RED,)}, Stop("3.00 of 3.00 USD are spent.")),
    ("three rounds lost in a row", {"spent": Spent(lost=3)}, Stop("The infrastructure ended 3 rounds in a row.")),
    ("two rounds void in a row", {"spent": Spent(void=2)}, Stop("The head moved during 2 rounds in a row.")),
    ("a small diff may grow to 400 lines", {"spent": Spent(lines=10), "lines": 400, "checks": (RED,)},
     StartRound(Kind.FIX, (RED,))),
    ("a diff may not grow for ever", {"spent": Spent(lines=10), "lines": 401},
     Stop("The diff grew from 10 to 401 lines.")),
    ("a large one by half", {"spent": Spent(lines=600), "lines": 901}, Stop("The diff grew from 600 to 901 lines.")),
    ("nothing is decided before GitHub knows", {"mergeable": Mergeable.UNKNOWN, "checks": (RED,)},
     Wait("GitHub has not computed yet whether it can be merged", "CI")),
    ("a conflict comes first, without any check", {"mergeable": Mergeable.CONFLICT}, StartRound(Kind.CONFLICT)),
    ("a conflict even after an approval", {"mergeable": Mergeable.CONFLICT, "approved": True},
     StartRound(Kind.CONFLICT)),
    ("conflicts, twice", {"mergeable": Mergeable.CONFLICT, "spent": spent(conflict=2)},
     Stop("All 2 conflict rounds are used.")),
    ("no merge of workflow files", {"mergeable": Mergeable.CONFLICT, "workflows_block": True},
     Stop("The base branch changed a workflow file, which the token of this bot may not push: merge the base.")),
    ("runs wait for approval", {"checks": (UNAPPROVED, UNAPPROVED, RED)}, AskApproval(("https://x/2",))),
    ("one red while another runs", {"checks": (RED, PENDING)}, Wait("lint has not ended", "CI")),
    ("red on the head, green on the base", {"checks": (RED, GREEN)}, StartRound(Kind.FIX, (RED,))),
    ("optional checks count before an approval", {"checks": (OPTIONAL,)}, StartRound(Kind.FIX, (OPTIONAL,))),
    ("optional ones do not after it", {"checks": (OPTIONAL,), "approved": True, "ready": True},
     Wait("it is ready for review")),
    ("required ones do", {"checks": (OPTIONAL, RED), "approved": True}, StartRound(Kind.FIX, (RED,))),
    ("a lost runner runs again", {"checks": (LOST,)}, Rerun((7,))),
    ("once a head", {"checks": (LOST,), **TWICE}, Stop("The infrastructure ended test: run it again.")),
    ("a job that failed cancels the others", {"checks": (RED, CANCELLED)}, StartRound(Kind.FIX, (RED,))),
    ("only ours is fixed", {"checks": (BASE_RED, OTHER, LOST_TWICE), **TWICE},
     StartRound(Kind.FIX, (OTHER,))),
    ("a flaky check runs again", {"checks": (FLAKY,)}, Rerun((7,))),
    ("and is fixed if it fails again", {"checks": (FLAKY,), **TWICE}, StartRound(Kind.FIX, (FLAKY,))),
    ("red on the base as well", {"checks": (BASE_RED,)},
     Stop("test fails on the base branch, too: https://x/1.")),
    ("red at the merge base, and no result since", {"checks": (OLD_RED._replace(on_base_tip=None),)},
     Stop("test fails on the base branch, too.")),
    ("mended on the base meanwhile", {"checks": (OLD_RED,)},
     Update("test failed at the merge base, too, and passes on the base branch now")),
    ("not while the base's own check runs", {"checks": (OLD_RED._replace(on_base_tip=Ended.PENDING),)},
     Wait("test has not ended on the base branch", "CI")),
    ("once for each tip", {"checks": (OLD_RED,), "spent": Spent(done=frozenset({TIP}))},
     StartRound(Kind.FIX, (OLD_RED,))),
    ("updates, twice", {"checks": (OLD_RED,), "spent": spent(update=2)},
     Stop("All 2 merges of the base are used.")),
    ("the same failure after a fix", {"checks": (RED,), "spent": Spent(failures={"f1": OLD})},
     Stop("test fails at aaaaaaaaaaaa in the same way as at bbbbbbbbbbbb.")),
    ("fixes, three times", {"checks": (RED,), "spent": spent(fix=3)}, Stop("All 3 fix rounds are used.")),
    ("CI before reviews", {"checks": (RED,), "threads": (THREAD,)}, StartRound(Kind.FIX, (RED,))),
    ("all open threads in one round", {"checks": (GREEN,), "threads": (THREAD, BY_BOT)},
     StartRound(Kind.REVIEW, threads=(THREAD, BY_BOT))),
    ("a review bot has one round",
     {"threads": (BY_BOT,), "unanswered": 1, "spent": Spent(done=frozenset({"99"}))}, QUESTIONS),
    ("no push for threads after an approval", {"threads": (THREAD,), "unanswered": 1, "approved": True},
     MarkReady()),
    ("a review under way", {"threads": (THREAD,), "bot_review_pending": True},
     Wait("a review is under way", "a reviewer")),
    ("reviews, three times", {"threads": (THREAD,), "spent": spent(review=3)},
     Stop("All 3 review rounds are used.")),
    ("green", {"checks": (GREEN,)}, MarkReady()),
    ("no CI is not called green", {}, MarkReady()),
    ("green and asked once", {"checks": (GREEN,), "ready": True}, Wait("it is ready for review")),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "step"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_each_situation_has_one_step(fields: dict[str, Any], step: Step):
    assert decide(CLEAN._replace(**fields), FollowUpPolicy()) == step


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
    assert fingerprint(failed("")) == ""  # two failures without a word may be different
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


LIMITS = FollowUpPolicy()
WAKE_UPS = 400
"""Events and sweeps for one pull request in a month."""


class Pull:
    """One pull request; `dice` decides what happens to it."""

    def __init__(self, dice: random.Random, number: int) -> None:
        self.dice, self.pushes, self.by_person = dice, 0, False
        self.now = Situation(number, head=self._sha(), base_tip=self._sha(), lines=dice.randint(5, 900))

    def _sha(self) -> str:
        return f"{self.dice.getrandbits(160):040x}"

    def happen(self) -> None:
        """Something happens at GitHub."""
        dice, now = self.dice, self.now
        names = ("test", "lint", "docs")[: dice.randint(0, 3)]
        ended = [*[Ended.PASSED] * 6, Ended.FAILED, Ended.FAILED, Ended.LOST, Ended.PENDING, Ended.UNAPPROVED]
        fail = dice.choice(("same", f"{dice.getrandbits(16)}"))
        checks = tuple(
            Check(name, dice.choice(ended), dice.random() < 0.7, run=1, fingerprint=fail, flaky=dice.random() < 0.1,
                  on_merge_base=dice.choice((None, Ended.PASSED, Ended.PASSED, Ended.FAILED)),
                  on_base_tip=dice.choice((None, Ended.PASSED, Ended.PASSED, Ended.PASSED, Ended.FAILED)))
            for name in names
        )  # fmt: skip
        threads = tuple(dice.choice((0, 0, 99)) for _ in range(dice.choice((0, 0, 0, 1, 3))))
        self.now = now._replace(
            checks=checks,
            threads=threads,
            unanswered=len(threads),
            mergeable=dice.choice((*[Mergeable.CLEAN] * 8, Mergeable.CONFLICT, Mergeable.UNKNOWN)),
            approved=dice.random() < 0.1,
        )
        if dice.random() < 0.02:
            self.now = self.now._replace(base_tip=self._sha())
        if dice.random() < 0.01:
            self.by_person, self.now = True, self.now._replace(head=self._sha(), others=("p" * 40,))
        if dice.random() < 0.01:
            self.now = self.now._replace(over=dice.choice(("", "closed", "merged")))

    def step(self) -> str:
        """Wake up once; what was done, empty for nothing."""
        step, spent = decide(self.now, LIMITS), self.now.spent
        match step:
            case StartRound(kind, checks, threads):
                assert not self.by_person and not self.now.over
                counts = {**spent.counts, kind: spent.count(kind) + 1}
                failures = {**spent.failures, **{one.fingerprint: self.now.head for one in checks}}
                had = spent.done.union(str(bot) for bot in threads if bot)
                cost = spent.usd + self.dice.random()
                spent = spent._replace(
                    counts=counts, failures=failures, done=had, usd=cost, lines=spent.lines or self.now.lines
                )
                self.push(spent)
            case Update():
                assert not self.by_person and not self.now.over
                tips, counts = (
                    spent.done | {self.now.base_tip},
                    {**spent.counts, Kind.UPDATE: spent.count(Kind.UPDATE) + 1},
                )
                self.push(spent._replace(done=tips, counts=counts))
            case Rerun():
                self.now = self.now._replace(spent=spent._replace(done=spent.done | {self.now.head}))
            case MarkReady():
                self.now = self.now._replace(ready=True)
            case Stop(reason):
                self.now = self.now._replace(stopped=reason)
            case _:
                return ""
        return type(step).__name__

    def push(self, spent: object) -> None:
        self.pushes += 1
        self.now = self.now._replace(
            head=self._sha(), ready=False, spent=spent, lines=self.now.lines + self.dice.randint(0, 90)
        )


@pytest.mark.parametrize("seed", [1, 2, 36])
def test_a_month_ends_within_every_limit(seed: int):
    dice = random.Random(seed)
    pulls = [Pull(dice, number) for number in range(1, 201)]
    for pull in pulls:
        for _ in range(WAKE_UPS):
            pull.happen()
            done = 0
            while pull.step():
                done += 1
                assert done < 12, "it wakes itself up"
        spent = pull.now.spent
        assert spent.count(*ROUNDS) <= LIMITS.rounds
        assert all(spent.count(kind) <= getattr(LIMITS, kind) for kind in Kind)
        assert pull.pushes <= LIMITS.rounds + LIMITS.update
        assert spent.usd < LIMITS.usd + 1  # one round may pass it
    assert any(pull.now.spent.counts for pull in pulls)
    assert len({pull.now.stopped for pull in pulls}) > 5


WORK = "echo $RANDOM >> more.txt; sed -i -E '/^(<{7}|={7}|>{7})/d' notes.txt"


@pytest.mark.slow
@pytest.mark.bubblewrap
@pytest.mark.parametrize("seed", range(20))
def test_a_pull_request_of_the_month_as_whole_events(followed: Followed, seed: int):
    """The same, with real runs, merges and comments: random happenings, each with its event and the schedule's."""
    dice, forge, repo, person = random.Random(seed), followed.forge, followed.repo, ""
    heads, runs = {followed.head}, followed.ci("success")
    for step in range(8):
        log = dice.choice(("FAILED a::b", f"FAILED a::{step}"))
        match dice.choice(("red", "red", "green", "lost", "waits", "review", "base", "person", "stranger")):
            case "red":
                runs = followed.ci(log=log)
            case "lost":
                runs = followed.ci(log="The runner has received a shutdown signal.")
            case "waits":
                runs = followed.ci("action_required")
            case "review":
                followed.review(MAINTAINER, remarks=2)
            case "base":
                forge.commit(repo, {"notes.txt": f"{step}\n"})
            case "stranger":
                followed.review("stranger") if forge.add_user("stranger") else None
            case "person" if dice.random() < 0.4:
                person = person or forge.commit(
                    repo, {"p.txt": f"{step}\n"}, branch=BRANCH, author=MAINTAINER
                )
            case _:
                runs = followed.ci("success")
        script = [
            Call("view", {"path": "notes.txt"}), Call("bash", {"command": WORK}),
            Call("describe_change", {"title": f"Step {step}", "summary": "x"}), *[Say("Done.")] * 3,
        ]  # fmt: skip
        before = followed.head
        done = followed.wake(runs, script)
        assert "Traceback" not in done.output
        if person:
            assert followed.head == before
        heads.add(followed.head)
    counts = {kind: int(followed.mark.get(kind, 0)) for kind in Kind}
    assert all(number <= getattr(LIMITS, kind) for kind, number in counts.items())
    assert len(heads) - 1 - bool(person) <= sum(counts.values()) <= LIMITS.rounds + LIMITS.update
