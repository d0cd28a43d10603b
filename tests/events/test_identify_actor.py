"""Who gets which tier, and who gets no answer at all."""

from collections.abc import Collection
from typing import Any

import pytest

from bot.contracts.request import Actor, Tier
from bot.events.admission import identify_actor, tier_of
from bot.events.event_request import RefusedError
from bot.github.values import Permission
from tests.events.requests import asked
from tests.support.threads import WRITER, Threads, comment_payload


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
REFUSED: list[tuple[str, Permission, dict[str, Any]]] = [
    (
        "GitHub knows octocat as account 999, not as 583231.",
        Permission("admin", 999, "User", private=False),
        {},
    ),
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
]


@pytest.mark.parametrize(("reason", "permission", "changes"), REFUSED)
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
