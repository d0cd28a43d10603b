"""A pull request of the bot's own from event to event, on the forge."""

import os
import re
from base64 import b64decode

import pytest

from bot.contracts.request import FOLLOW_UP_FILE
from slash_forge.bundled import MAINTAINER
from slash_forge.call import Call as RestCall
from tests.attacks.test_fence_of_the_prompt import outside, user_texts
from tests.follow_up.conftest import BRANCH, FEATURE, FIX, UPDATE, UPDATER, Followed, by_command
from tests.support.files import write_file
from tests.support.model_script import Call, Say
from tests.support.stage import BOT

pytestmark = pytest.mark.bubblewrap


def test_without_the_policy_nothing_starts(followed: Followed):
    followed.forge.commit(followed.repo, {".github/agent.yml": "version: 1\n"})
    ran = followed.wake(followed.ci())
    assert ran.code == 0
    assert "has no `follow_up`" in ran.output
    assert followed.comment == ""


def test_a_red_check_is_fixed_once(followed: Followed):
    followed.forge.add_check_run(followed.repo, followed.merge_base, "test", "success")
    required = {"required_status_checks": [{"context": "test"}]}
    followed.forge.add_rule(followed.repo, "main", "required_status_checks", required)
    before, run = followed.head, followed.ci()
    done = followed.wake(run, FIX)
    assert done.code == 0, done.output
    assert followed.forge.branch_sha(followed.repo, BRANCH) != before
    message = followed.stage.get(f"commits/{followed.head}")["commit"]["message"]
    assert message.rstrip().endswith("Agent-Round: fix")
    assert f"pushed {followed.head[:12]}" in followed.comment
    assert followed.mark["fix"] == "1"
    assert "FAILED test_a::test_b" in str(done.requests[0].json)
    again = followed.wake(run)
    assert again.code == 0, again.output
    assert followed.mark["fix"] == "1"


def test_one_red_check_waits_for_the_others_and_an_idle_event_takes_few_calls(followed: Followed):
    run = followed.ci()
    followed.ci(None, name="lint")
    assert followed.wake(run, [Say("unused")]).requests == []
    assert followed.comment.startswith("**Following this pull request.** Lint has not ended. Next: CI.")
    before, writes = len(followed.calls), len(followed.stage.writes())
    followed.wake(run)
    assert 0 < len(followed.calls) - before <= 6, followed.calls[before:]
    assert len(followed.stage.writes()) == writes


def test_green_marks_it_ready_and_requests_a_review_once(followed: Followed):
    followed.forge.comment(followed.repo, followed.number, MAINTAINER, "/agent follow")
    armed = followed.command()
    assert armed.code == 0, armed.output
    run = followed.ci("success")
    assert followed.wake(run).code == 0
    assert followed.pull["draft"] is False
    assert [one["login"] for one in followed.pull["requested_reviewers"]] == [MAINTAINER]
    assert "**Ready for review.** All checks pass at" in followed.comment
    writes = len(followed.stage.writes())
    followed.wake(run)
    assert len(followed.stage.writes()) == writes
    assert (followed.pull["merged"], followed.pull["auto_merge"]) == (False, None)


def test_a_commit_of_somebody_else_ends_it(followed: Followed):
    followed.forge.commit(followed.repo, {"x.txt": "x\n"}, branch=BRANCH, author=MAINTAINER)
    before = followed.head
    assert followed.wake(followed.ci()).code == 0
    said = r"\*\*Stopped:\*\* Somebody else committed to the branch: [0-9a-f]{12}\. Next: a maintainer"
    assert re.search(said, followed.comment)
    assert followed.head == before


def test_runs_that_wait_for_approval_are_named_once(followed: Followed):
    run = followed.ci("action_required")
    followed.wake(run)
    waits = "**Waiting for somebody with write access** to approve the workflow runs: [run 1]("
    assert waits in followed.comment
    writes = len(followed.stage.writes())
    followed.wake(run)
    assert len(followed.stage.writes()) == writes
    assert "fix" not in followed.mark


def test_a_lost_runner_runs_again_and_costs_no_round(followed: Followed):
    run = followed.ci(log="The hosted runner lost communication with the server.")
    assert followed.wake(run).code == 0
    assert followed.forge.run_state(followed.repo, run) == ("queued", None)
    assert "fix" not in followed.mark


@pytest.mark.slow
def test_a_copied_mark_lowers_nothing(followed: Followed):
    run = followed.ci()
    followed.wake(run, FIX)
    forged = re.sub(r"\bfix=1", "fix=0", followed.comment)
    followed.forge.comment(followed.repo, followed.number, MAINTAINER, forged)
    followed.forge.delete_comment(followed.repo, _id(followed))
    followed.wake(followed.ci(None))
    assert followed.mark["fix"] == "1"  # by the trailer of the commit


def _id(followed: Followed) -> int:
    found = followed.stage.get(f"issues/{followed.number}/comments")
    return next(
        one["id"] for one in found if one["user"]["login"] == BOT and "slash-agent followed" in one["body"]
    )


BOTH = "printf 'both\\n=======\\n' > notes.txt; echo both > more.txt"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edit", "refused"),
    [
        (BOTH, ""),  # the line was in notes.txt before
        (f"{BOTH}; echo mine > other.txt", "changes other.txt, which has no conflict"),
        ("echo both > more.txt; echo more >> notes.txt", "conflict marker is left in notes.txt"),
        ("printf 'both\\n=======\\n' | tee notes.txt > more.txt", "conflict marker is left in more.txt"),
        ("printf '||||||| 1\\n' > more.txt; echo > notes.txt", "conflict marker is left in more.txt"),
        (BOTH, "GitHub made a different commit"),
    ],
)
def test_a_merge_has_two_parents_and_differs_in_resolved_conflicts_alone(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, edit: str, refused: str
):
    forge, repo, names = followed.forge, followed.repo, RestCall.names
    files = {"notes.txt": "one\n=======\n", "more.txt": "one\n"}
    head = forge.commit(repo, files, branch=BRANCH, author=BOT)
    tip = forge.commit(repo, {"notes.txt": "two\n", "other.txt": "other\n", "more.txt": "two\n"})
    if refused.startswith("GitHub"):  # a third parent
        followed.policy("{}\npull_request: {signed: true}")
        monkeypatch.setattr(RestCall, "names", lambda call, name: [*names(call, name), tip])
    model = [Call("view", {"path": "notes.txt"}), *by_command(edit)]
    done = followed.wake(followed.run_of_ci("success"), model)  # without a check
    assert "<<<<<<<" in str(done.requests[1].json)
    assert followed.mark["conflict"] == "1"
    assert "Ready" not in followed.comment
    assert refused in done.output
    assert followed.head == head if refused else followed.parents == [head, tip]


def test_five_threads_are_answered_in_one_round(followed: Followed):
    ids = followed.review(MAINTAINER, remarks=5)
    edit = Call("write", {"path": "notes.txt", "content": "better\n"})
    told = Call("describe_change", {"title": "Answer the review", "summary": "x"})
    replies = [reply(followed, one, f"Changed {one}.") for one in ids]
    before = followed.head
    done = followed.wake(
        followed.ci("success"), [Call("view", {"path": "notes.txt"}), edit, *replies, told, Say("Done.")]
    )
    assert done.code == 0, done.output
    assert followed.head != before
    written = followed.stage.get(f"pulls/{followed.number}/comments")
    assert sorted(one["in_reply_to_id"] for one in written if one.get("in_reply_to_id")) == sorted(ids)
    assert followed.mark["review"] == "1"
    again = followed.wake(followed.ci("success"))
    assert again.code == 0, again.output
    assert followed.mark["review"] == "1"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "policy", "refused", "resolved"),
    [(1, "{}", False, True), (30, "{}", False, False), (1, "{}", True, False), (1, "{resolve: false}", False, False)],
)  # fmt: skip
def test_only_a_thread_whose_lines_changed_is_resolved_and_a_refusal_is_a_note(
    followed: Followed, monkeypatch: pytest.MonkeyPatch, line: int, policy: str, refused: bool, resolved: bool
):
    forge, text = followed.forge, "".join(f"{number}\n" for number in range(1, 41))
    followed.policy(policy)
    forge.commit(followed.repo, {"long.txt": text}, branch=BRANCH, author=BOT)
    remark = forge.review_comment(followed.repo, followed.number, MAINTAINER, "long.txt", 1, body="Better?")
    edit = Call("bash", {"command": f"sed -i '{line}s/.*/better/' long.txt"})
    told = Call("describe_change", {"title": "Answer the review", "summary": "x"})
    if refused:  # as for a token without `contents: write`
        monkeypatch.setattr("slash_forge.operations.graphql.may_resolve", lambda *_: False)
    before = followed.head
    done = followed.wake(
        followed.ci("success"), [edit, reply(followed, remark, "It is better."), told, Say("Done.")]
    )
    assert done.code == 0, done.output
    assert followed.head != before
    assert forge.is_resolved(followed.repo, remark) is resolved
    assert ("is not resolved: GitHub does not allow this token" in done.output) is refused
    assert "declined" not in followed.stage.get(f"pulls/{followed.number}/comments")[-1]["body"]


def test_a_failure_mended_on_the_base_is_merged_and_not_fixed(followed: Followed):
    forge, repo = followed.forge, followed.repo
    forge.add_check_run(repo, followed.merge_base, "test", "failure")
    tip = forge.commit(repo, {"mended.txt": "x\n"})
    forge.add_check_run(repo, tip, "test", "success")
    head = followed.head
    assert followed.wake(followed.ci()).code == 0
    assert followed.parents == [head, tip]
    assert followed.mark["update"] == "1"
    assert "fix" not in followed.mark
    again = followed.wake(followed.ci(None))
    assert "Stopped" not in followed.comment, again.output


def test_red_on_the_base_as_well_stops_with_a_link(followed: Followed):
    run = followed.forge.add_run(followed.repo, conclusion="failure")
    followed.forge.add_job(followed.repo, run, "test", conclusion="failure")
    assert followed.wake(followed.ci()).code == 0
    assert "Stopped:** test fails on the base branch, too: http" in followed.comment, followed.comment


def test_the_same_failure_after_a_fix_stops_with_both_heads(followed: Followed):
    first = followed.head
    followed.wake(followed.ci(), FIX)
    second = followed.head
    assert followed.wake(followed.ci()).code == 0
    assert f"test fails at {second[:12]} in the same way as at {first[:12]}" in followed.comment
    followed.command()  # a person may have it tried once more
    followed.wake(followed.ci(), by_command("echo again > more.txt"))
    assert followed.head != second and followed.mark["fix"] == "2"


def test_a_round_that_changes_nothing_stops(followed: Followed):
    done = followed.wake(followed.ci(), [Say("It is right as it is.")])
    assert done.code == 0, done.output
    assert "**Stopped:** The round changed nothing." in followed.comment
    [comment] = followed.stage.bot_comments(followed.number)
    assert comment == followed.comment


@pytest.mark.slow
def test_a_head_that_moved_makes_the_round_void(followed: Followed):
    round = followed.begin(followed.ci())
    moved = followed.forge.commit(followed.repo, {"y.txt": "y\n"}, branch=BRANCH, author=BOT)
    published = followed.publish(*round)
    assert published.code == 6, published.output
    assert followed.head == moved
    assert followed.mark["void"] == "1"
    assert len(followed.stage.pulls()) == 1
    followed.wake(followed.ci(), FIX)
    assert "void" not in followed.mark
    assert followed.head != moved


@pytest.mark.slow
def test_a_killed_round_is_given_back_and_repeated(followed: Followed):
    run = followed.ci()
    job, _ = followed.begin(run)
    assert followed.mark["run"] == job["GITHUB_RUN_ID"]
    assert "a round is under way" in followed.wake(run).output
    followed.forge.set_run(followed.repo, int(job["GITHUB_RUN_ID"]), conclusion="cancelled")
    before = followed.head
    done = followed.wake(run, FIX)
    assert done.code == 0, done.output
    assert followed.head != before
    assert followed.mark["fix"] == "1"


@pytest.mark.slow
def test_the_sweep_works_on_all_that_are_followed(followed: Followed):
    before = followed.head
    followed.ci()
    swept = followed.sweep(FIX)
    assert swept.code == 0, swept.output
    more = {"SLASH_AGENT_INSTRUCTION": "follow", "GITHUB_RUN_ID": followed.mark["run"]}
    followed.stage.publish_event(followed.stage.schedule, "schedule", followed.token, **more)
    assert followed.head != before


def test_an_outsider_cannot_follow(followed: Followed):
    followed.forge.commit(followed.repo, {".github/agent.yml": "version: 1\n"})
    followed.forge.add_user("stranger")
    done = followed.command(login="stranger")
    assert done.code == 3, done.output
    assert followed.comment == ""


def test_a_token_without_contents_leaves_a_note_and_succeeds(followed: Followed):
    followed.token = followed.forge.token(
        BOT, {"contents": "read", "issues": "write", "pull_requests": "write"}, repo=followed.repo
    )
    done = followed.wake(followed.ci("success"))
    assert done.code == 0, done.output
    assert "contents: write" in followed.comment
    assert followed.pull["draft"]


def test_one_in_the_merge_queue_is_left_alone(followed: Followed):
    followed.forge.set_pull(followed.repo, followed.number, queued=True)
    followed.no_round(followed.ci())
    assert "in the merge queue" in followed.comment


@pytest.mark.slow
@pytest.mark.parametrize("words", ["/agent resolve conflicts", "/agent update"])
def test_a_person_can_have_the_base_merged_into_their_pull_request(followed: Followed, words: str):
    number, head = followed.feature()
    tip = followed.forge.commit(followed.repo, {"a.txt": "theirs\n"})
    edit = Call("write", {"path": "a.txt", "content": "mine and theirs\n"})
    followed.worked_on(words, number, [Call("view", {"path": "a.txt"}), edit, *FIX[1:]])
    assert followed.feature_parents == [head, tip]


def test_an_update_without_conflicts_asks_no_model(followed: Followed):
    number, head = followed.feature()
    ran, _ = followed.worked_on("/agent update", number, [Say("unused")])
    assert ran.requests == []
    assert followed.feature_parents == [head, followed.forge.branch_sha(followed.repo)]


def test_without_push_to_head_nothing_is_merged_into_a_persons_branch(followed: Followed):
    number, head = followed.feature(push_to_head=False)
    _, done = followed.worked_on("/agent update", number, [Say("x")], code=6)
    assert "push_to_head" in done.output
    assert followed.forge.branch_sha(followed.repo, FEATURE) == head


def test_a_lock_file_is_never_merged_by_hand(followed: Followed):
    forge, repo = followed.forge, followed.repo
    forge.commit(repo, {"Cargo.lock": "one\n"}, branch=BRANCH, author=BOT)
    forge.commit(repo, {"Cargo.lock": "two\n"})
    assert "Cargo.lock has conflicts" in followed.no_round(followed.ci(None))


@pytest.mark.slow
@pytest.mark.parametrize("mixed", [False, True])
def test_a_red_dependency_update_is_fixed_once(followed: Followed, mixed: bool):
    notes = "<details>\n<summary>Release notes</summary>\n<ul>\n<li>y is gone.</li>\n</ul>\n</details>"
    triggers = f"triggers: {{failed_runs: {{authors: [{followed.dependency_update(notes)}], verbs: [fix]}}}}"
    followed.policy(f"{{}}\n{triggers}")
    if mixed:
        followed.forge.commit(followed.repo, {"y.txt": "y\n"}, branch=UPDATE, author=MAINTAINER)
    run = followed.run_of_ci(actor=UPDATER)
    followed.forge.add_job(followed.repo, run, "test", conclusion="failure")
    done = followed.wake(run, [Say("It is broken.")] if mixed else FIX)
    if mixed:
        assert "has commits of other accounts" in done.output
        return
    assert done.code == 0, done.output
    text = user_texts(done.requests[0].json)
    assert "Release notes" in text and "y is gone." in text
    assert "Release notes" not in outside(text) and "y is gone." not in outside(text)
    [stacked] = [one for one in followed.stage.pulls() if one["base"]["ref"] == UPDATE]
    assert stacked["draft"]
    again = followed.wake(run)
    assert "1 times already" in again.output, again.output
    followed.number = stacked["number"]
    followed.wake(followed.ci(None))
    assert followed.mark["fix"] == "1"  # of the draft's rounds


def reply(followed: Followed, comment: int, body: str) -> Call:
    write = {"kind": "reply", "number": followed.number, "comment_id": comment, "body": body}
    return Call("propose_write", write)


def test_a_listed_bots_second_review_causes_no_round(followed: Followed):
    bot = followed.forge.add_user("critic[bot]", kind="Bot")
    followed.policy(f"{{bots: [{bot}]}}")
    [first] = followed.review("critic[bot]")
    followed.wake(followed.ci("success"), [reply(followed, first, "No."), Say("Done.")])
    assert followed.mark["review"] == "1"
    followed.forge.comment(followed.repo, followed.number, MAINTAINER, "/agent follow")
    followed.command()
    followed.review("critic[bot]")
    again = followed.wake(followed.ci("success"))
    assert again.code == 0, again.output
    assert followed.mark["review"] == "1"
    assert "Only questions are left, in 2 open threads" in followed.comment


def test_a_workflow_of_the_base_stops_before_the_model(followed: Followed):
    workflow = {".github/workflows/new.yml": "on: push\n", "notes.txt": "two\n"}
    followed.forge.commit(followed.repo, workflow)
    followed.no_round(followed.ci(None))
    assert "**Stopped:** The base branch changed a workflow file" in followed.comment


def test_after_an_approval_an_optional_red_check_causes_no_push(followed: Followed):
    required = {"required_status_checks": [{"context": "must"}]}
    followed.forge.add_rule(followed.repo, "main", "required_status_checks", required)
    followed.forge.review(followed.repo, followed.number, MAINTAINER, state="APPROVED")
    followed.ci("success", name="must")
    followed.no_round(followed.ci(name="optional"))
    assert "Ready for review" in followed.comment


def test_a_check_that_is_flaky_on_the_base_runs_again_and_causes_no_commit(followed: Followed):
    base = followed.merge_base
    for conclusion in ("failure", "success"):
        run = followed.forge.add_run(followed.repo, sha=base, conclusion=conclusion)
        followed.forge.add_job(followed.repo, run, "test", conclusion=conclusion)
    before, run = followed.head, followed.ci()
    assert followed.wake(run).code == 0
    assert followed.forge.run_state(followed.repo, run) == ("queued", None)
    assert followed.wake(followed.ci("success")).code == 0
    assert followed.head == before
    assert "fix" not in followed.mark


@pytest.mark.slow
def test_a_change_that_needs_a_decision_is_asked_back_once(followed: Followed):
    [remark] = followed.review(MAINTAINER)
    followed.wake(followed.ci("success"), [reply(followed, remark, "Which of the two?"), Say("Done.")])
    assert "**Stopped:** Only questions are left." in followed.comment
    for script in ([reply(followed, remark, "Which of them, then?"), Say("Done.")], None):
        followed.forge.reply(followed.repo, remark, MAINTAINER, "You choose.")
        followed.command()
        done = followed.wake(followed.ci("success"), script)
        assert done.code == 0, done.output
    texts = [
        one["body"]
        for one in followed.stage.get(f"pulls/{followed.number}/comments")
        if one["user"]["login"] == BOT
    ]
    assert [text.partition("\n")[0] for text in texts] == [
        "Which of the two?", "This needs a decision of people, and I asked here before: I leave it to you.",
    ]  # fmt: skip
    assert followed.mark["review"] == "2"


def test_a_declined_finding_that_is_raised_again_gets_no_second_reply(followed: Followed):
    [remark] = followed.review(MAINTAINER)
    followed.wake(followed.ci("success"), [reply(followed, remark, "No, it is right."), Say("Done.")])
    followed.forge.reply(followed.repo, remark, MAINTAINER, "I insist.")
    followed.command()
    followed.no_round(followed.ci("success"))
    assert "Only questions are left" in followed.comment


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"cents": 300}, "3.00 of 3.00 USD are spent"),
        ({"fix": 2, "review": 3, "conflict": 1}, "All 6 rounds are used"),
        ({"lines": 1, "fix": 1}, "The diff grew from 1 to 501 lines"),
        ({"void": 2}, "The head moved during 2 rounds in a row"),
        ({"lost": 3}, "The infrastructure ended 3 rounds in a row"),
    ],
)
def test_each_limit_stops_and_the_diff_stays(followed: Followed, fields: dict[str, int], reason: str):
    if "lines" in fields:
        followed.forge.commit(followed.repo, {"long.txt": "line\n" * 500}, branch=BRANCH, author=BOT)
    followed.known(**fields)
    followed.no_round(followed.ci())
    assert f"**Stopped:** {reason}" in followed.comment


@pytest.mark.slow
def test_the_base_may_go_on_while_a_conflict_is_resolved(followed: Followed):
    forge, repo = followed.forge, followed.repo
    tip = forge.commit(repo, {"notes.txt": "two\n"})
    head, round = followed.head, followed.begin(followed.ci(None), by_command("echo both > notes.txt"))
    forge.commit(repo, {"later.txt": "x\n"})
    assert followed.publish(*round).code == 0
    assert followed.parents == [head, tip]


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["writes", "fails"])
def test_a_lock_file_is_written_anew_by_its_own_tool(followed: Followed, ends: str):
    """Whatever the model makes of it: the tool begins with the base's."""
    forge, repo, tools = followed.forge, followed.repo, followed.stage.folder / "tools"
    forge.commit(repo, {"Cargo.lock": "one\n"}, branch=BRANCH, author=BOT)
    policy = "version: 1\nchecks: []\nfollow_up: {}\ntiers: {schedule: {egress: [rust]}}\n"
    forge.commit(repo, {"Cargo.lock": "two\n", "notes.txt": "two\n", ".github/agent.yml": policy})
    script = 'echo "$@" >> Cargo.lock' if ends == "writes" else "echo no such crate; exit 3"
    write_file(tools / "cargo", f"#!/bin/sh\n{script}\n", 0o755)
    model = by_command("echo both > notes.txt; echo by hand > Cargo.lock")
    before, path = followed.head, f"{tools}:{os.environ['PATH']}"
    done = followed.wake(followed.ci(None), model, PATH=path)
    if ends == "fails":
        assert "could not write Cargo.lock anew: no such crate" in followed.comment
        assert followed.head == before
        return
    assert done.code == 0, done.output
    merged = followed.stage.get(f"contents/Cargo.lock?ref={followed.head}")
    assert b64decode(merged["content"]) == b"two\nupdate --workspace\n"


@pytest.mark.slow
def test_failing_checks_of_a_persons_pull_request_are_fixed_on_request_in_one_round(followed: Followed):
    followed.number, head = followed.feature()
    followed.ci()
    ran, _ = followed.worked_on("/agent fix the failing checks", followed.number, FIX)
    assert "test" in str(ran.requests[0].json)
    assert followed.feature_parents == [head]


@pytest.mark.parametrize(
    ("repeated_by", "counted_by", "again"),
    [
        (MAINTAINER, "comments", "head was worked on 1 times"), ("", "comments", "its pull request 3 times"),
        ("", "commits", "its pull request 3 times"), ("", "bundles", "its pull request 3 times"),
    ],
)  # fmt: skip
def test_a_red_update_is_known_by_its_author_and_counted_as_rounds_are(
    followed: Followed, repeated_by: str, counted_by: str, again: str
):
    """Whoever the event names, also a person who ran CI again."""
    forge, repo = followed.forge, followed.repo
    triggers = f"triggers: {{failed_runs: {{authors: [{followed.dependency_update()}]}}}}"
    forge.commit(repo, {".github/agent.yml": f"checks: []\n{triggers}\n"})
    head = forge.branch_sha(repo, UPDATE) or ""
    for number, one in enumerate([head] if repeated_by else ["b" * 40, "c" * 40, "d" * 40]):
        written = f"<!-- slash-agent progress request=w{one[:12]}-{number} run=7 state=over -->"
        match counted_by:
            case "comments":
                forge.comment(repo, followed.number, BOT, f"Done.\n\n{written}\n")
            case "commits":
                words = {"author": BOT, "message": f"Fix {number}\n\nAgent-Round: fix"}
                forge.commit(repo, {"fix.txt": f"{number}\n"}, branch=UPDATE, **words)
            case _:
                bundle = f"slash-agent-bundle-round-{followed.number}"
                forge.add_artifact(repo, followed.ci(None), bundle, {"a": b""})
    done = followed.wake(followed.run_of_ci(actor=repeated_by or UPDATER))
    assert again in done.output, done.output


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("unapproved", "to approve the workflow runs: [run 1]("), ("queued", "CI has not ended"),
        ("required", "Must has not ended"), ("many", "fixing failed checks: a check after the first hundred"),
        ("ours", "Ready for review"), ("ours failed", "Ready for review"), ("superseded", "Ready for review"),
    ],
)  # fmt: skip
def test_what_the_roll_up_of_checks_leaves_out_or_has_too_much(followed: Followed, kind: str, said: str):
    """A run without a job, a required check that nobody reported, the 101st check, our own jobs, and an older run."""
    forge, repo = followed.forge, followed.repo
    run = followed.ci("cancelled" if kind == "superseded" else "success")
    if kind == "unapproved":
        followed.run_of_ci("action_required")
    elif kind == "queued":
        followed.run_of_ci(None)
    elif kind == "required":
        required = {"required_status_checks": [{"context": "must"}]}
        forge.add_rule(repo, "main", "required_status_checks", required)
    elif kind == "many":
        for number in range(101):
            forge.add_check_run(repo, followed.head, f"{number}", "failure" if number == 100 else "success")
    elif kind.startswith("ours"):
        ends = "failure" if kind == "ours failed" else None
        own = followed.run_of_ci(ends, workflow=FOLLOW_UP_FILE, event="pull_request_review")
        forge.add_job(repo, own, "Decide the next step", conclusion=ends)
    else:
        run = followed.ci("success")
    followed.wake(run, [Say("unused")] if kind == "many" else None)
    assert said in followed.comment


def test_an_approval_and_a_request_outlast_a_later_comment(followed: Followed):
    required = {"required_status_checks": [{"context": "must"}]}
    followed.forge.add_rule(followed.repo, "main", "required_status_checks", required)
    followed.ci("success", name="must")
    for state in ("APPROVED", "COMMENTED"):
        followed.forge.review(followed.repo, followed.number, MAINTAINER, "Nice.", state=state)
    followed.no_round(followed.ci(name="optional"))
    assert "**Ready for review.** All required checks pass at" in followed.comment
    for state in ("CHANGES_REQUESTED", "COMMENTED"):
        followed.forge.review(followed.repo, followed.number, MAINTAINER, "Rename it.", state=state)
    followed.wake(followed.ci("success", name="optional"), FIX)
    assert followed.mark["review"] == "1"


@pytest.mark.parametrize("email", ["", "noreply@github.com"])
def test_a_commit_of_ours_that_a_person_amended_is_not_ours(followed: Followed, email: str):
    """GitHub itself is the committer of what we make through its API."""
    followed.amend(BRANCH, email)
    followed.wake(followed.ci("success"))
    assert ("Somebody else committed" in followed.comment) is (not email)


@pytest.mark.slow
@pytest.mark.parametrize("email", ["", "noreply@github.com"])
def test_an_update_that_a_person_amended_is_left_alone(followed: Followed, email: str):
    followed.policy(f"{{}}\ntriggers: {{failed_runs: {{authors: [{followed.dependency_update()}]}}}}")
    followed.amend(UPDATE, email)
    done = followed.wake(followed.run_of_ci(actor=UPDATER), FIX)
    assert ("has commits of other accounts" in done.output) is (not email)


@pytest.mark.slow
def test_an_outsider_hides_no_thread_and_keeps_none_open(followed: Followed):
    followed.policy("{resolve: false}")
    [remark] = followed.review(MAINTAINER)
    followed.forge.add_user("stranger")
    followed.forge.reply(followed.repo, remark, "stranger", "Me too.")
    edit = Call("write", {"path": "notes.txt", "content": "better\n"})
    answer = [Call("view", {"path": "notes.txt"}), edit, reply(followed, remark, "Done."), *FIX[1:]]
    followed.wake(followed.ci("success"), answer)
    assert followed.mark["review"] == "1"
    followed.forge.reply(followed.repo, remark, "stranger", "No!")
    followed.no_round(followed.ci("success"))
    assert "Ready for review" in followed.comment


@pytest.mark.parametrize("mode", ["100644", "120000", "160000"])
def test_a_conflict_without_markers_is_left_to_people_before_any_model(followed: Followed, mode: str):
    """A binary file, a link and a submodule: git just keeps one side, so the base's change would be lost."""
    ours, theirs = (
        ("a" * 40, "b" * 40) if mode == "160000" else ("\0one", "\0two") if mode == "100644" else ("a", "b")
    )
    for branch, content in ((BRANCH, ours), ("main", theirs)):
        followed.put(branch, {"thing": (mode, content), "notes.txt": ("100644", content[:5].strip("\0"))})
    followed.no_round(followed.ci(None))
    assert "**Stopped:** thing has a conflict, and is binary, a link or a submodule" in followed.comment


def test_stop_before_the_first_comment_holds(followed: Followed):
    assert "I do not follow this pull request any more" in followed.command("/agent stop").output
    followed.no_round(followed.ci())
    assert followed.mark["state"] == "stopped"


@pytest.mark.slow
def test_follow_during_a_round_loses_no_work(followed: Followed):
    run, before = followed.ci(), followed.head
    round = followed.begin(run)
    assert "a round of it has begun" in followed.command().output
    followed.stage.event_file(followed.forge.workflow_run_event(followed.repo, run))
    assert followed.publish(*round).code == 0
    assert followed.head != before


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("closed", "The pull request is closed."),
        ("theirs", "Somebody else committed"),
        ("labelled", "It has the label `agent-stop`."),
    ],
)
def test_follow_says_why_it_does_not_arm(followed: Followed, where: str, why: str):
    if where == "theirs":
        followed.forge.commit(followed.repo, {"x.txt": "x\n"}, branch=BRANCH, author=MAINTAINER)
    elif where == "labelled":
        followed.forge.label(followed.repo, followed.number, "Agent-stop")
    else:
        followed.forge.set_thread(followed.repo, followed.number, state="closed")
    followed.wake(followed.ci())
    # Nothing is said in a closed one that nobody followed.
    assert ("Stopped" in followed.comment) is (where in ("theirs", "labelled"))
    done = followed.command()
    assert done.code == 0, done.output
    assert followed.stage.bot_comments(followed.number)[-1].startswith(f"**Not followed:** {why}")


@pytest.mark.parametrize("open", [False, True])
def test_auto_merge_is_armed_where_the_policy_allows_it_and_no_thread_is_open(followed: Followed, open: bool):
    followed.policy("{auto_merge: true}")
    followed.forge.add_user("second")
    followed.forge.grant(followed.repo, "second", "write")
    if open:
        followed.review("second")
    followed.forge.review(followed.repo, followed.number, MAINTAINER, state="APPROVED")
    followed.wake(followed.ci("success"))
    assert (followed.pull["auto_merge"] is None) is open


@pytest.mark.slow
def test_an_update_of_what_has_all_of_its_base_pushes_nothing(followed: Followed):
    number, _ = followed.feature()
    followed.worked_on("/agent update", number, [Say("unused")])
    head = followed.forge.branch_sha(followed.repo, FEATURE)
    _, done = followed.worked_on("/agent update", number, [Say("unused")])
    assert f"Pull request #{number} is up to date" in done.output
    [said] = [one for one in followed.stage.bot_comments(number) if "Nothing to merge" in one]
    assert said.startswith("**Nothing to merge.** The branch has all commits of its base.")
    assert followed.forge.branch_sha(followed.repo, FEATURE) == head
