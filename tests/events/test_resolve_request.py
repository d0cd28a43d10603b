"""From an event to a request, a refusal, or a word why nothing happens; and what that may cost."""

from collections.abc import Collection
from typing import Any

import pytest

from bot.contracts.errors import ExitCode
from bot.contracts.request import Actor, Request, Tier
from bot.events.admission import identify_actor, tier_of
from bot.events.event_request import RefusedError, WorkflowInputs
from bot.github.values import Permission
from bot.policy.settings import Policy
from bot.verbs.record import Place
from bot.verbs.registry import INSTANT, NAMES
from bot.verbs.registry import VERBS as REGISTRY
from tests.events.requests import Event, NoRequest, Refusal, asked, build_request, expect
from tests.support.policies import admitting
from tests.support.threads import AT, WRITER, Threads, comment, comment_payload

READER = Permission("read", 583231, "User", private=True, role="read")
OUTSIDER = Permission("read", 583231, "User", private=False, role="read")
BOT = {"login": "renovate[bot]", "id": 29139614, "type": "Bot"}

VERBS = {
    Tier.MAINTAINER: frozenset(NAMES),
    Tier.CONTRIBUTOR: frozenset({"review", "help"}),
    Tier.OUTSIDER: frozenset({"help", "status"}),
}
POLICY = admitting(VERBS)


def _build(
    body: str | None,
    threads: Threads | None = None,
    name: str = "issue_comment",
    admission: Policy = POLICY,
    **changes: Any,
) -> Request | Refusal | NoRequest:
    event = Event(name, comment_payload(body, **changes))
    return build_request(event, threads or Threads(), lambda: admission)


def test_a_command_becomes_a_request():
    request = expect(Request, _build("/agent fix the sum --budget 2", Threads(thread=[comment(1, "me too")])))
    assert (request.verb, request.instruction, request.options) == ("fix", "the sum", {"budget": "2"})
    assert (request.repository, request.base_ref) == ("acme/calc", "main")
    assert request.actor.tier is Tier.MAINTAINER
    assert request.thread is not None
    assert [one.body for one in request.thread.comments] == ["me too"]


@pytest.mark.parametrize("said", ["", "fix", "fix this", "fix This!", "fix it", "fix this issue."])
def test_words_that_only_point_at_the_issue_are_no_instruction(said: str):
    request = expect(Request, _build(f"/agent {said}", issue__body=None))
    assert (request.instruction, request.full_instruction) == (None, "Fix this issue.")


def test_a_base_branch_may_be_named():
    request = expect(Request, _build("/agent fix --base release/2"))
    assert request.base_ref == "release/2"


def test_an_outsider_is_refused_in_one_line_before_the_thread_is_read():
    threads = Threads(OUTSIDER)
    assert _build("/agent fix it", threads) == Refusal(
        "Thanks for your interest, octocat. Only people with write access to this repository can start me here. A "
        "maintainer can run `/agent fix` on this issue, or allow others in `.github/agent.yml`.",
        in_thread=True,
    )
    assert threads.calls == ["permission acme/calc octocat"]
    refusal = expect(Refusal, _build("/agent revew", Threads(OUTSIDER)))
    assert "revew" not in refusal.reason


MAINTAINER = Threads().permission_answer
BY_BOT = {"comment__user": BOT, "sender": BOT}
NOT_ALLOWED = (
    "may not use `/agent fix` here: this repository's policy does not allow it for the tier {}. "
    "A maintainer can write it, or allow it with `tiers` in `.github/agent.yml`."
)
REFUSED: dict[str, tuple[str, Permission, dict[str, Any], Refusal]] = {
    "a contributor": ("fix it", READER, {}, Refusal(f"octocat {NOT_ALLOWED.format('contributor')}", in_thread=True)),
    "a bot that is listed for another verb": (
        "fix it",
        MAINTAINER,
        BY_BOT,
        Refusal(f"renovate[bot] {NOT_ALLOWED.format('bot')}", in_thread=False),
    ),
    "a deleted account": (
        "fix it",
        MAINTAINER,
        {"comment__user": None},
        Refusal("The account that gave the command is deleted.", in_thread=False),
    ),
    "a misspelled verb": (
        "revew",
        MAINTAINER,
        {},
        Refusal("`/agent revew` is not a command. Did you mean `/agent review`?", True, ExitCode.USAGE),
    ),
    "a review of an issue": (
        "review",
        MAINTAINER,
        {},
        Refusal("`/agent review` works on pull requests; this is an issue.", True, ExitCode.USAGE),
    ),
    "a head of an issue": (
        f"fix --sha {'a' * 40}",
        MAINTAINER,
        {},
        Refusal("`--sha` names the head of a pull request; this is an issue.", True, ExitCode.USAGE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_a_command_is_refused_with_a_sentence_or_in_silence(what: str):
    words, permission, changes, refusal = REFUSED[what]
    admission = admitting(VERBS, {29139614: frozenset({"review"})})
    assert _build(f"/agent {words}", Threads(permission), admission=admission, **changes) == refusal


def test_a_listed_bot_gets_the_verbs_of_its_entry():
    admission = admitting(VERBS, {29139614: frozenset({"fix"})})
    request = expect(Request, _build("/agent fix it", admission=admission, **BY_BOT))
    assert request.actor.tier is Tier.BOT
    unlisted = expect(Refusal, _build("/agent fix it", **BY_BOT))
    assert not unlisted.in_thread


@pytest.mark.parametrize("verb", NAMES)
def test_every_verb_is_carried_out_under_a_pull_request_and_some_under_an_issue(verb: str):
    request = expect(Request, _build(f"/agent {verb} {'a' * 8}", issue__pull_request={"url": "x"}))
    assert (request.verb, request.pull is None) == (verb, verb in INSTANT)
    if Place.ISSUE in REGISTRY[verb].places:
        assert expect(Request, _build(f"/agent {verb} {'a' * 8}")).verb == verb


SCHEDULED = admitting({Tier.SCHEDULE: frozenset(NAMES)}, {})


def test_a_schedule_needs_nobody_and_no_thread():
    event = Event("schedule", {"schedule": "0 4 * * *"})
    given = WorkflowInputs("acme/calc", instruction="mend dead links", task="dead-links", now=AT)
    request = expect(Request, build_request(event, Threads(), lambda: SCHEDULED, inputs=given))
    assert (request.instruction, request.task, request.thread) == ("mend dead links", "dead-links", None)
    assert (request.actor.tier, request.base_ref) == (Tier.SCHEDULE, "main")


def test_a_schedule_that_needs_a_thread_is_refused_in_silence():
    event = Event("schedule", {"schedule": "0 4 * * *"})
    given = WorkflowInputs("acme/calc", instruction="retry", now=AT)
    refusal = expect(Refusal, build_request(event, Threads(), lambda: SCHEDULED, inputs=given))
    assert not refusal.in_thread


def test_a_dispatch_may_name_a_thread():
    payload = {
        "inputs": {"instruction": "explain it", "number": "9"},
        "repository": comment_payload()["repository"],
        "sender": comment_payload()["sender"],
    }
    event = Event("workflow_dispatch", payload)
    threads = Threads(on_issue=True)
    request = expect(Request, build_request(event, threads, lambda: POLICY, inputs=WorkflowInputs(now=AT)))
    assert request.thread is not None
    assert (request.thread.number, request.actor.login) == (9, "octocat")


# Who asks


def _permission(
    level: str, role: str = "", *, private: bool = False, collaborator: bool = False
) -> Permission:
    return Permission(level, 583231, "User", private, role or level, collaborator)


TIERS = [
    (_permission("admin"), Tier.MAINTAINER),
    (_permission("write"), Tier.MAINTAINER),
    (_permission("write", "maintain"), Tier.MAINTAINER),
    (_permission("read", "triage"), Tier.CONTRIBUTOR),
    (_permission("read", collaborator=True), Tier.CONTRIBUTOR),
    (_permission("read", private=True), Tier.CONTRIBUTOR),
    (_permission("read"), Tier.OUTSIDER),
    (_permission("none"), Tier.OUTSIDER),
    (_permission("none", private=True), Tier.OUTSIDER),
    (_permission("owner-of-the-moon", "write"), Tier.OUTSIDER),
]


@pytest.mark.parametrize(("permission", "tier"), TIERS)
def test_a_tier_comes_from_the_permission(permission: Permission, tier: Tier):
    assert tier_of(permission) is tier


def identified(
    permission: Permission = WRITER,
    bots: Collection[int] = (),
    threads: Threads | None = None,
    **changes: Any,
) -> Actor:
    request = asked("issue_comment", comment_payload(**changes))
    return identify_actor(request, threads or Threads(permission), bots)


BOTS = [
    {"login": "dependabot[bot]", "id": 49699333, "type": "Bot"},
    {"login": "Copilot", "id": 49699333, "type": "Bot"},
    {"login": "sneaky[bot]", "id": 49699333, "type": "User"},
]


def test_an_account_has_the_tier_that_github_gives_it():
    assert identified() == Actor("octocat", 583231, Tier.MAINTAINER)
    # The payload's association counts for nothing, and a listed id makes no bot of a person.
    reader = _permission("read")
    assert identified(reader, comment__author_association="OWNER").tier is Tier.OUTSIDER
    assert identified(reader, [583231]).tier is Tier.OUTSIDER


MALLORY = {"login": "mallory", "id": 666, "type": "User"}
REFUSED_ACTORS: list[tuple[str, Permission, dict[str, Any]]] = [
    ("GitHub knows octocat as account 999, not as 583231.", Permission("admin", 999, "User", private=False), {}),
    (
        "GitHub shows no account octocat any more: it is suspended, deleted or renamed.",
        Permission("none", 0, "", private=False),
        {},
    ),
    ("mallory sent this event, but octocat wrote the command.", WRITER, {"sender": MALLORY}),
    *(
        ("octocat is a", Permission("admin", 583231, kind, private=False), {})
        for kind in ("Bot", "Organization", "Mannequin", "")
    ),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "permission", "changes"), REFUSED_ACTORS)
def test_an_account_that_is_not_the_one_that_asks_is_refused_in_silence(
    reason: str, permission: Permission, changes: dict[str, Any]
):
    with pytest.raises(RefusedError) as refusal:
        identified(permission, **changes)
    assert str(refusal.value).startswith(reason)
    assert not refusal.value.in_thread


@pytest.mark.parametrize(
    "changes", [{"comment__user": None}, *({"comment__user": bot, "sender": bot} for bot in BOTS)]
)
def test_a_bot_and_a_deleted_account_are_refused_without_a_call(changes: dict[str, Any]):
    threads = Threads(WRITER)
    with pytest.raises(RefusedError):
        identified(threads=threads, **changes)
    assert threads.calls == []
