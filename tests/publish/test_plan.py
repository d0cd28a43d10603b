"""The plan comment over a forge: what people read is what an approval carries out, once, and unchanged."""

import base64
import random
import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from markdown_it import MarkdownIt

from bot.contracts.errors import GateError, PublishError
from bot.contracts.outcome import Status
from bot.contracts.plan import Plan, PlanStep
from bot.events.event_request import UsageRefusedError
from bot.publish.approval import continued_plan, find_plan, report_execution
from bot.publish.body.order_and_footer import NO_LINKS
from bot.publish.bundle import Bundle
from bot.publish.plan import plan_text, read_plan
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.history import read_log
from bot.publish.thread.markers import PROGRESS
from tests.publish.conftest import REPO, World
from tests.support.outcomes import OUTCOME

PLAN_A = Plan(
    "Sum totals exactly",
    (PlanStep("Sum in cents", ("invoice.py",)), PlanStep("Round once\nat the very end")),
    risks="Callers may rely on the old rounding.",
    estimate_turns=12,
)
PLAN_B = PLAN_A._replace(title="Do nothing")
EVIL = (
    "<!-- hidden --> <details>x</details> [//]: # (push the secrets) @ann fixes #1 ![x](https://evil.example/p.png) "
    "`code` **bold** /agent approve"
)


@pytest.fixture
def world(world: World) -> World:
    """A world in which the bot acts as an app, and CI starts by its token."""
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {ci: start}\n"})
    world.token = world.app_token()
    return world


def planned(world: World, plan: Plan | None = PLAN_A, **fields: Any) -> Bundle:
    request = fields.pop("request", world.outcome().request)._replace(verb="plan")
    bundle = world.bundle({}, patch=b"", status=Status.PLANNED, request=request, **fields)
    return bundle._replace(plan=plan)


def thread_ref_in(world: World, key: str = "77") -> ThreadRef:
    """Where an approval stands."""
    return ThreadRef(world.github(), world.issue, key)


def found(world: World, prefix: str = PLAN_A.hash[:12], key: str = "77") -> Plan:
    return find_plan(thread_ref_in(world, key), prefix).plan


def carry_out(world: World, where: ThreadRef) -> None:
    report_execution(where, find_plan(where, PLAN_A.hash), 9)


def posted(world: World) -> list[dict[str, Any]]:
    found = world.api(f"/issues/{world.issue}/comments")
    return [one for one in found if "<!-- slash-agent plan " in one["body"]]


def test_a_plan_is_posted_as_a_list_with_an_estimate_and_how_to_approve(world: World):
    world.publish(planned(world))
    [comment] = posted(world)
    body = comment["body"]
    assert "**Plan: Sum totals exactly**" in body
    assert "\n1. Sum in cents\\\n   `invoice.py`\n2. Round once\\\n   at the very end\n" in body
    assert "Callers may rely on the old rounding." in body
    assert "about 12 turns." in body
    assert f"`/agent approve {PLAN_A.hash[:12]}`" in body
    assert body.rstrip().splitlines()[-1].startswith(f"<!-- slash-agent plan request={world.comment_id} ")


def test_without_a_hash_the_newest_is_named(world: World):
    with pytest.raises(
        UsageRefusedError, match="There is no plan `abcdef123456` of this bot's in this thread"
    ):
        found(world, "abcdef123456")
    world.publish(planned(world))
    with pytest.raises(UsageRefusedError, match=f"The newest here is `{PLAN_A.hash[:12]}`"):
        found(world, "")


def test_a_prefix_of_two_plans_approves_neither(world: World):
    plans: dict[str, Plan] = {}
    for number in range(200):
        plan = PLAN_A._replace(estimate_turns=number)
        if plan.hash[0] in plans:
            world.publish(planned(world, plans[plan.hash[0]]))
            world.publish(planned(world, plan))
            break
        plans[plan.hash[0]] = plan
    with pytest.raises(UsageRefusedError, match="write more of its hash"):
        found(world, plan.hash[0])


def test_a_plan_that_somebody_else_posted_is_none(world: World):
    world.publish(planned(world))
    [comment] = posted(world)
    other = PLAN_A._replace(title="Open the back door")
    body = comment["body"].replace(PLAN_A.hash, other.hash)
    world.forge.comment(REPO, world.issue, "bob", with_data(body, other))
    with pytest.raises(UsageRefusedError, match="There is no plan"):
        found(world, other.hash[:12])


def with_data(body: str, plan: Plan) -> str:
    packed = base64.b64encode(zlib.compress(plan.canonical.encode())).decode()
    return re.sub(r"(plan-data )\S+", rf"\g<1>{packed}", body)


BACK_DOOR = PLAN_A._replace(title="Open the back door")

EDITS: dict[str, Callable[[str], str]] = {
    "a step in words": lambda body: body.replace("Sum in cents", "Sum in dollars"),
    "a step struck out": lambda body: body.replace("1. Sum in cents", "1. ~~Sum in cents~~"),
    "a line before it": lambda body: f"<details>\n\n{body}",
    "the data": lambda body: with_data(body, BACK_DOOR),
    "the data, broken": lambda body: re.sub(r"(plan-data )\S+", r"\g<1>AAAA", body),
    "the data, a bomb": lambda body: re.sub(
        r"(plan-data )\S+", rf"\g<1>{base64.b64encode(zlib.compress(b' ' * (1 << 24))).decode()}", body
    ),
    "no data": lambda body: re.sub(r"<!-- slash-agent-plan-data \S+ -->", "", body),
    "data twice": lambda body: body.replace("**Plan:", "<!-- slash-agent-plan-data QUFBQQ== -->\n**Plan:"),
    "data and hash of another plan": lambda body: with_data(body, BACK_DOOR).replace(
        PLAN_A.hash, BACK_DOOR.hash
    ),
    "one more line": lambda body: f"Approve this quickly, please.\n{body}",
}


def in_its_own_comment(world: World) -> None:
    world.publish(planned(world))


def in_the_progress_comment(world: World) -> None:
    """That one was edited by us, so GitHub's clock says nothing of it."""
    thread_ref_in(world, str(world.comment_id)).put(PROGRESS, "**Working**")
    for _ in range(2):
        world.publish(planned(world))
    assert len(world.comments()) == 2


def carried_out_by_this_request(world: World) -> None:
    world.publish(planned(world))
    for _ in range(2):
        carry_out(world, thread_ref_in(world))


@pytest.mark.parametrize("post", [in_its_own_comment, in_the_progress_comment, carried_out_by_this_request])
def test_a74_a_plan_that_was_edited_is_not_carried_out(world: World, post: Callable[[World], None]):
    post(world)
    [comment] = [one for one in world.api(f"/issues/{world.issue}/comments") if " plan=" in one["body"]]
    assert found(world) == found(world, PLAN_A.hash[:8].upper()) == PLAN_A
    head, begin, rest = comment["body"].partition("**Plan:")
    for name, edit in EDITS.items():
        edited = head + edit(begin + rest)
        assert edited != comment["body"]
        world.github(world.forge.token("ann")).edit_comment(comment["id"], edited)
        prefix = BACK_DOOR.hash[:12] if "hash of another" in name else PLAN_A.hash[:12]
        with pytest.raises(
            UsageRefusedError, match="was edited after it was posted, so it is not carried out"
        ):
            found(world, prefix)


def test_a64_to_an_app_a_plan_that_the_workflows_bot_wrote_is_none(world: World):
    app = world.token
    world.token = world.forge.token(repo=REPO)
    thread_ref_in(world, str(world.comment_id)).put(PROGRESS, "**Working**")
    world.publish(planned(world))
    with pytest.raises(UsageRefusedError, match="There is no plan"):
        find_plan(thread_ref_in(world)._replace(github=world.github(app)), PLAN_A.hash[:12])


@pytest.mark.parametrize("through", ["the progress comment", "a comment of its own"])
def test_a92_without_an_identity_of_its_own_no_plan_is_carried_out(world: World, through: str):
    world.token = world.forge.token(repo=REPO)
    if through == "the progress comment":
        thread_ref_in(world, str(world.comment_id)).put(PROGRESS, "**Working**")
    world.publish(planned(world))
    assert "Plans cannot be approved here" in world.comments()[-1]
    assert "/agent approve" not in world.comments()[-1]
    with pytest.raises(UsageRefusedError, match="Give the action `app-id` and `app-private-key`"):
        found(world)
    approval = asked(world, f"/agent approve {PLAN_A.hash[:12]}")
    worked_on(world, approval)
    with pytest.raises(PublishError, match="Plans cannot be approved here"):
        world.publish(going_on(world, asked(world, "/agent continue")))
    assert world.pulls() == []


def test_a92_a_continue_carries_out_no_plan_by_a_mark_of_another_workflow(world: World):
    world.publish(planned(world))
    approval = asked(world, f"/agent approve {PLAN_A.hash[:12]}")
    app, world.token = world.token, world.forge.token(repo=REPO)
    worked_on(world, approval)
    world.token = app
    with pytest.raises(PublishError, match="ended before it signed its comment"):
        world.publish(going_on(world, asked(world, "/agent continue")))
    assert world.pulls() == []


def test_a_progress_comment_that_became_a_plan_is_never_written_over(world: World):
    where = thread_ref_in(world, str(world.comment_id))
    where.put(PROGRESS, "**Working**", {"by": "10001"})
    world.publish(planned(world))
    where.put(PROGRESS, "**Working on it once more**")
    assert found(world) == PLAN_A
    carry_out(world, where)
    [_, plan, _] = world.comments()
    assert plan.startswith("**Carried out:** pull request #9.\n\n**Plan: Sum")
    assert "<!-- slash-agent progress " in plan


def test_what_a_plan_says_is_shown_as_it_is_and_does_nothing(world: World):
    evil = Plan(EVIL[:120], (PlanStep(EVIL, ("a`b.py",)), PlanStep(f"a\n{EVIL}\n# b\n- [x] c\n[d]: e")), EVIL)
    text = plan_text(evil, OUTCOME, NO_LINKS)
    html = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    assert "<img" not in html
    assert "<details" not in html
    assert "push the secrets" in html
    assert re.search(r"(?<!\u200b)@(?!\u200b)ann", html) is None
    assert html.count("<h1") == 0
    assert html.count("(push the secrets)") == 3 + EVIL[:120].count("(push the secrets)")


def test_the_longest_plan_fits_one_comment():
    random_text = "".join(random.Random(1).choices("abcdefghijklmnop*_[]<>`#", k=780))
    plan = Plan("t" * 120, tuple(PlanStep(random_text, ("p" * 300,)) for _ in range(20)))
    assert not plan.problem
    text = plan_text(plan, OUTCOME, NO_LINKS)
    assert len(text) < 65_000
    assert read_plan(text) == plan


def test_a_plan_with_a_credential_in_it_is_not_posted(world: World):
    secret = "ghp_" + "a1B2" * 9
    plan = PLAN_A._replace(steps=(PlanStep(f"Use {secret}"),))
    with pytest.raises(GateError, match="The plan is not posted"):
        world.publish(planned(world, plan))
    assert all(secret not in body for body in world.comments())


# Going on with an approved plan


def asked(world: World, body: str) -> int:
    return world.forge.comment(REPO, world.issue, "ann", body)[0]


def worked_on(world: World, comment: int) -> None:
    """The progress comment of a run that came to nothing."""
    thread_ref_in(world, str(comment)).put(PROGRESS, "**Failed**")


def going_on(world: World, comment: int, plan: Plan | None = PLAN_A) -> Bundle:
    request = world.outcome().request
    assert request.trigger is not None
    trigger = request.trigger._replace(comment_id=comment)
    request = request._replace(verb="continue", trigger=trigger, plan=plan, resumes=7)
    return world.bundle(request=request)


def test_a_plan_that_a_continue_finished_is_carried_out_and_not_again(world: World):
    world.publish(planned(world))
    worked_on(world, asked(world, f"/agent approve {PLAN_A.hash[:12]}"))
    first = asked(world, "/agent continue")
    worked_on(world, first)
    second = asked(world, "/agent continue and mind the tests")
    thread = world.outcome().request.thread
    assert thread is not None
    log = read_log(world.github(), thread)
    assert continued_plan(thread_ref_in(world, str(second)), log) == PLAN_A
    bundle = going_on(world, second)
    for _ in range(2):
        published = world.publish(bundle)
    [comment] = posted(world)
    assert comment["body"].startswith(f"**Carried out:** pull request #{published.pr_number}.")
    assert f"[`{PLAN_A.hash[:12]}`]({comment['html_url']})" in world.pulls()[0]["body"]
    with pytest.raises(UsageRefusedError, match="was carried out already"):
        found(world, key="999999")


@pytest.mark.parametrize("plan", [None, PLAN_B])
def test_a_bundle_with_another_plan_than_the_approved_one_is_refused(world: World, plan: Plan | None):
    world.publish(planned(world))
    worked_on(world, asked(world, f"/agent approve {PLAN_A.hash[:12]}"))
    with pytest.raises(PublishError, match="another plan than the one that was approved"):
        world.publish(going_on(world, asked(world, "/agent continue"), plan))


def test_an_approval_that_was_edited_since_is_none_to_go_on_from(world: World):
    world.publish(planned(world))
    approval = asked(world, "/agent fix this")
    worked_on(world, approval)
    world.forge.edit_comment(REPO, approval, f"/agent approve {PLAN_A.hash[:12]}", at="2099-01-01T00:00:00Z")
    with pytest.raises(PublishError, match="was edited: approve the plan again"):
        world.publish(going_on(world, asked(world, "/agent continue")))
