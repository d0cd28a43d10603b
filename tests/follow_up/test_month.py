"""A month of 200 pull requests with random CI, reviews and pushes, through the decision with a virtual clock."""

import random

import pytest

from bot.follow_up.decide import decide
from bot.follow_up.situation import (
    ROUNDS,
    Check,
    Ended,
    Kind,
    MarkReady,
    Mergeable,
    Rerun,
    Situation,
    StartRound,
    Stop,
    Update,
)
from bot.policy.follow_up import FollowUpPolicy
from slash_forge.bundled import MAINTAINER
from tests.follow_up.conftest import BRANCH, Followed, mark_fields
from tests.support.model_script import Call, Say

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
    counts = {kind: int(mark_fields(followed.comment).get(kind, 0)) for kind in Kind}
    assert all(number <= getattr(LIMITS, kind) for kind, number in counts.items())
    assert len(heads) - 1 - bool(person) <= sum(counts.values()) <= LIMITS.rounds + LIMITS.update
