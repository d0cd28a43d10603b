"""From a bundle to a pull request, over a forge: real REST, real git over HTTP."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from github.PullRequest import PullRequest

from bot.contracts.errors import ExitCode, PublishError
from bot.contracts.outcome import ChangedFile, Status
from bot.github.client import GitHub
from bot.publish.bundle import Bundle
from bot.publish.change.pull_request import free_branch
from bot.publish.context import check_verb
from bot.publish.result import PublishResult
from bot.publish.thread.comments import ThreadRef
from bot.publish.thread.markers import PROGRESS
from tests.publish.conftest import FIXED, REPO, WRITES, World, open_world
from tests.support.outcomes import OUTCOME

CI_STARTS = "pull_request: {ci: start}\n"
DISPATCHING = f"dispatch: [ci.yml]\n{CI_STARTS}"
WORKFLOW = {".github/workflows/ci.yml": "on: workflow_dispatch\n"}
BRANCH = "agent/issue-1-round-totals-once-at-the-end"


@dataclass(frozen=True)
class Published:
    """A world in which one change was published, for tests that only look. `asked` are the API requests of that."""

    world: World
    result: PublishResult
    asked: list[str]
    comments_before: list[str]


@pytest.fixture(scope="module")
def published_change(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Published]:
    with open_world(tmp_path_factory.mktemp("published")) as world:
        bundle = world.bundle()
        comments, seen = world.comments(), len(world.forge.requests)
        result = world.publish(bundle)
        requests = world.forge.requests[seen:]
        asked = [str(request) for request in requests if request.path.startswith("/api/")]
        yield Published(world, result, asked, comments)


def test_a_change_becomes_a_draft_pull_request(published_change: Published):
    world, published = published_change.world, published_change.result
    (pull,) = world.pulls()
    assert published.created
    assert (published.pr_number, published.pr_url) == (pull["number"], pull["html_url"])
    assert pull["draft"] is True
    assert pull["title"] == "Round totals once, at the end"
    assert (pull["head"]["ref"], pull["base"]["ref"]) == (BRANCH, "main")
    assert "fix the rounding of totals" in pull["body"]
    assert f"Fixes #{world.issue}" in pull["body"]
    assert world.branches() == {"main": world.base_sha, BRANCH: published.commit}


def test_the_commit_names_the_bot_and_the_requester(published_change: Published):
    world = published_change.world
    commit = world.commit(published_change.result.commit)
    assert f"parent {world.base_sha}" in commit
    bot = "github-actions[bot] <41898282+github-actions[bot]@users.noreply.127.0.0.1>"
    assert f"author {bot} 1767323144 +0000\ncommitter {bot} 1767323144 +0000" in commit
    assert f"Co-authored-by: ann <{world.ann}+ann@users.noreply.127.0.0.1>" in commit
    assert "Signed-off-by" not in commit


def test_policy_of_the_base_commit_decides_keyword_draft_and_sign_off(world: World):
    text = "pull_request: {keyword: Refs, draft: false, sign_off: true}\n"
    text += "identity: {name: our-bot, email: b@our.example}\n"
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": text})
    published = world.publish(world.bundle())
    (pull,) = world.pulls()
    assert pull["draft"] is False
    assert f"Refs #{world.issue}" in pull["body"]
    assert f"Fixes #{world.issue}" not in pull["body"]
    assert "Signed-off-by: our-bot <b@our.example>" in world.commit(published.commit)


def _bound_to_drafts(world: World) -> Bundle:
    """A bundle with `--no-draft`, which nobody could ask for: intake refuses it."""
    text = "pull_request: {draft: always}\n"
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": text})
    request = world.outcome().request
    return world.bundle(request=request._replace(options={"draft": "false"}))


@pytest.mark.slow
def test_under_draft_always_a_bundle_that_says_no_draft_opens_one(world: World):
    world.publish(_bound_to_drafts(world))
    assert world.pulls()[0]["draft"] is True


def test_the_repositorys_template_is_filled(world: World):
    template = "## What\n<!-- say it -->\n\n## Checklist\n- [ ] I have read the guide\n"
    world.base_sha = world.forge.commit(REPO, {".github/PULL_REQUEST_TEMPLATE.md": template})
    world.publish(world.bundle())
    body = world.pulls()[0]["body"]
    assert "- [ ] I have read the guide" in body
    named = "## What", "<!-- say it -->", "Totals were rounded", "## Checklist"
    assert sorted(map(body.index, named)) == list(map(body.index, named))


# Twice


def test_publishing_twice_changes_nothing_nor_what_a_person_edited(world: World):
    first = world.publish(world.bundle())
    before = (world.branches(), world.pulls(), world.comments(), world.writes())
    second = world.publish(world.bundle())
    assert (world.branches(), world.pulls(), world.comments(), world.writes()) == before
    assert (second.pr_number, second.commit, second.created) == (first.pr_number, first.commit, False)
    # Who edited the text keeps it.
    body = world.pulls()[0]["body"].replace("Totals were", "In short: totals were")
    world.github().edit_pull(first.pr_number, title="A better title", body=body)
    world.publish(world.bundle())
    assert (world.pulls()[0]["title"], world.pulls()[0]["body"]) == ("A better title", body)


# A later run on the same issue


def test_a_later_run_updates_the_open_pull_request_whatever_its_title(world: World):
    first = world.publish(world.bundle())
    later = "2026-01-03T00:00:00Z"
    second = world.publish(world.bundle({"invoice.py": FIXED + "# checked\n"}, ended_at=later))
    assert len(world.pulls()) == 1
    assert (second.pr_number, second.created) == (first.pr_number, False)
    assert world.branches() == {"main": world.base_sha, BRANCH: second.commit}
    assert second.commit != first.commit
    description = world.outcome().description._replace(title="Something else")
    third = world.publish(world.bundle({"README.md": "Bye\n"}, description=description))
    assert third.pr_number == first.pr_number
    assert set(world.branches()) == {"main", BRANCH}


def test_a_commit_by_a_person_is_never_overwritten(world: World):
    first = world.publish(world.bundle())
    theirs = world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
    bundle = world.bundle({"invoice.py": FIXED + "# checked\n"})
    second = world.publish(bundle)
    assert world.branches()[BRANCH] == theirs
    assert second.branch == f"{BRANCH}-2"
    assert second.pr_number != first.pr_number
    assert f"There are later commits on #{first.pr_number}" in world.pulls()[0]["body"]
    # Published again it changes nothing.
    before = (world.branches(), world.pulls())
    world.publish(bundle)
    assert (world.branches(), world.pulls()) == before


@pytest.mark.slow
def test_a_copied_mark_makes_no_pull_request_ours(world: World):
    first = world.publish(world.bundle())
    body = world.pulls()[0]["body"]
    world.forge.delete_branch(REPO, BRANCH)
    stranger = world.github(world.forge.token("ann"))
    theirs = world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
    copied = body.replace(f"head={first.commit}", f"head={theirs}")
    stranger.open_pull(title="Mine", body=copied, head=BRANCH, base="main", draft=False)
    second = world.publish(world.bundle({"invoice.py": FIXED + "# checked\n"}))
    assert world.branches()[BRANCH] == theirs
    assert second.branch == f"{BRANCH}-2"


def test_a_person_who_opened_it_from_the_branch_is_not_doubled(world: World):
    world.forge.allow_actions_pull_requests(REPO, False)
    with pytest.raises(PublishError):
        world.publish(world.bundle())
    opened = world.github(world.forge.token("ann")).open_pull(
        title="By hand", body="", head=BRANCH, base="main", draft=False
    )
    world.forge.allow_actions_pull_requests(REPO, True)
    published = world.publish(world.bundle())
    assert (published.pr_number, published.created) == (opened.number, False)
    assert len(world.pulls()) == 1


# Refused


@pytest.mark.slow
def test_where_opening_is_refused_the_branch_stays_and_the_thread_knows_the_setting(world: World):
    world.forge.allow_actions_pull_requests(REPO, False)
    bundle = world.bundle()
    with pytest.raises(PublishError, match="Allow GitHub Actions to create and approve") as caught:
        world.publish(bundle)
    assert caught.value.exit_code is ExitCode.PUBLISHING
    assert BRANCH in world.branches()
    comment = world.comments()[-1]
    assert "Allow GitHub Actions to create and approve pull requests" in comment
    assert f"{world.forge.url}/{REPO}/compare/main...{BRANCH}?expand=1" in comment
    # Once the setting is on, publishing again opens it.
    world.forge.allow_actions_pull_requests(REPO, True)
    published = world.publish(bundle)
    assert (published.created, published.branch) == (True, BRANCH)


def test_a_token_that_may_not_push_is_a_sentence_and_a_comment(world: World):
    token = world.forge.token(permissions={**WRITES, "contents": "read"}, repo=REPO)
    with pytest.raises(PublishError, match="may not push") as caught:
        world.publish(world.bundle(), token=token)
    assert token not in str(caught.value)
    assert "may not push" in world.comments()[-1]
    assert world.branches() == {"main": world.base_sha}


def test_a_base_commit_that_is_on_no_base_branch_is_refused(world: World):
    world.base_sha = world.forge.commit(REPO, {"README.md": "theirs\n"}, branch="somebody", author="bob")
    with pytest.raises(PublishError, match="not part of main"):
        world.publish(world.bundle())
    assert set(world.branches()) == {"main", "somebody"}


@pytest.mark.parametrize("branch", ["fix/#12/größe/a'b\"c", "x" * 200])
def test_base_branches_have_all_kinds_of_names(world: World, branch: str):
    world.base_sha = world.forge.commit(REPO, {"README.md": "x\n"}, branch=branch, author="ann")
    bundle = world.bundle(request=world.outcome().request._replace(base_ref=branch))
    world.forge.commit(REPO, {"README.md": "y\n"}, branch=branch, author="ann")
    world.publish(bundle)
    assert world.pulls()[0]["base"]["ref"] == branch


def test_a_base_branch_that_is_gone_is_a_sentence(world: World):
    request = world.outcome().request._replace(base_ref="gone")
    with pytest.raises(PublishError, match="gone no longer exists"):
        world.publish(world.bundle(request=request))


def test_the_base_branch_is_not_written_even_when_it_has_a_name_like_ours(world: World):
    world.base_sha = world.forge.commit(REPO, {"README.md": "x\n"}, branch=BRANCH, author="ann")
    request = world.outcome().request._replace(base_ref=BRANCH)
    published = world.publish(world.bundle(request=request))
    assert world.branches()[BRANCH] == world.base_sha
    assert published.branch == f"{BRANCH}-2"


NO_DRAFTS = {
    "message": "Validation Failed",
    "errors": [{"message": "Draft pull requests are not supported in this repository."}],
}


def test_private_plans_without_drafts_get_none_where_the_policy_has_drafts_only(world: World):
    bundle = _bound_to_drafts(world)
    world.forge.fail_next("POST", "/pulls$", status=422, body=NO_DRAFTS)
    with pytest.raises(PublishError, match="`draft: always` under `pull_request`"):
        world.publish(bundle)
    assert world.pulls() == []
    assert f"/compare/main...{BRANCH}?expand=1" in world.comments()[-1]


def test_the_token_is_nowhere_on_disk(published_change: Published):
    from base64 import b64encode

    world = published_change.world
    hidden = [world.token.encode(), b64encode(f"x-access-token:{world.token}".encode())]
    files = [path for path in world.folder.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if any(secret in path.read_bytes() for secret in hidden)]


@pytest.mark.parametrize(
    ("verbs", "statuses", "patch"),
    [
        (["explain", "review", "plan", "status"], [Status.CHANGED, Status.PARTIAL], b"x"),
        (["fix"], [Status.REVIEWED, Status.PLANNED], b""),
    ],
)
def test_a_result_of_another_verb_is_tampering(verbs: list[str], statuses: list[Status], patch: bytes):
    for verb, status in product(verbs, statuses):
        outcome = OUTCOME._replace(request=OUTCOME.request._replace(verb=verb), status=status)
        with pytest.raises(PublishError, match=f"`/agent {verb}` cannot come to"):
            check_verb(Bundle(Path(), outcome, patch))


# Workflows that do not start by themselves

NO_RUNS = "CI does not start here by itself"


def test_where_ci_does_not_start_the_pull_request_says_how_to_start_it(published_change: Published):
    body = published_change.world.pulls()[0]["body"]
    assert NO_RUNS in body
    assert "close and reopen this pull request to start it" in body


@pytest.mark.slow
def test_the_policys_workflows_are_started_on_the_branch(world: World):
    world.base_sha = world.forge.commit(REPO, {".github/agent.yml": DISPATCHING, **WORKFLOW})
    token = world.forge.token(permissions={**WRITES, "actions": "write"}, repo=REPO)
    bundle = world.bundle()
    world.forge.fail_next("POST", "/dispatches$", status=204)
    published = world.publish(bundle, token=token)
    assert published.notes == ()
    assert "ci.yml was started on the branch instead" in world.pulls()[0]["body"]
    started = [path for path in world.writes() if path.endswith("/ci.yml/dispatches")]
    assert len(started) == 1
    world.publish(bundle, token=token)
    assert [path for path in world.writes() if path.endswith("/ci.yml/dispatches")] == started


# CI that waits for approval


def own(world: World) -> dict[str, Any]:
    """The workflow's own token, as `publish` takes it beside another."""
    return {"workflow": lambda: (world.github(), world.token)}


def opened_by(world: World) -> str:
    return str(world.pulls()[0]["user"]["login"])


POLICIES = {
    "none": {},
    "wait": {".github/agent.yml": "pull_request: {ci: wait}\n"},
    "workflows to dispatch": {".github/agent.yml": "dispatch: [ci.yml]\n", **WORKFLOW},
}


@pytest.mark.parametrize(
    ("token", "policy"), [("app", "none"), ("person", "wait"), ("app", "workflows to dispatch")]
)
def test_a73_a91_ci_waits_whoever_wrote_in_the_thread(world: World, token: str, policy: str):
    world.forge.grant(REPO, "bob", "write")  # nobody without rights has written
    if files := POLICIES[policy]:
        world.base_sha = world.forge.commit(REPO, files)
    used = world.app_token() if token == "app" else world.forge.token("ann")
    with pytest.raises(PublishError, match="takes the workflow's own GITHUB_TOKEN, and there is none here"):
        world.publish(world.bundle(), token=used)
    assert (world.pulls(), set(world.branches())) == ([], {"main"})
    world.publish(world.bundle(), token=used, **own(world))
    assert opened_by(world) == "github-actions[bot]"
    assert "waits until somebody with write access approves" in world.pulls()[0]["body"]
    pushes = [one for one in world.forge.requests if "git-receive-pack" in one.path and one.method == "POST"]
    assert [one.login for one in pushes] == ["github-actions[bot]"]
    assert not [path for path in world.writes() if "dispatches" in path]


@pytest.mark.slow
def test_a65_a91_the_authors_of_a_thread_change_nothing(world: World):
    """An outsider, another workflow, and one whose comment is deleted."""
    world.forge.add_user("mallory")
    world.forge.comment(REPO, world.issue, "mallory", "Try this.")
    written = [world.github().create_comment(world.issue, "Delete the checks.") for _ in range(2)]
    world.github().delete_comment(written[0].id)
    world.publish(world.bundle(), token=world.app_token(), **own(world))
    assert opened_by(world) == "github-actions[bot]"


# Told without a pull request


def test_a_change_makes_no_comment(published_change: Published):
    assert published_change.world.comments() == published_change.comments_before


def test_a_thread_that_cannot_be_told_is_a_publishing_failure(world: World):
    world.forge.set_thread(REPO, world.issue, locked=True)
    token = world.forge.token(permissions={"contents": "write", "issues": "read"}, repo=REPO)
    with pytest.raises(PublishError, match="could not be posted"):
        world.publish(world.bundle({}, status=Status.NO_CHANGE), token=token)


# Dry


def test_a_dry_run_says_every_write_and_makes_none(world: World):
    published = world.publish(world.bundle(), dry_run=True)
    assert world.writes() == []
    assert [line.partition("\n")[0] for line in world.said] == [
        f"would push: make {BRANCH} with one commit on main, 1 file",
        f"would open a pull request in {REPO}:",
        f"would ask for a review of the new pull request in {REPO}:",
    ]
    assert "Totals were rounded" in world.said[1]
    assert published.pr_number == 0


@pytest.mark.slow
def test_the_file_list_is_the_gates_and_not_the_bundles(world: World):
    lie = (ChangedFile("docs.md", "modified", "100644", "0" * 64, 1, 0),)
    world.publish(world.bundle(files=lie))
    body = world.pulls()[0]["body"]
    assert "`invoice.py`" in body
    assert "docs.md" not in body


def test_a_whole_publishing_asks_little(published_change: Published):
    assert len(published_change.asked) <= 6, published_change.asked


# Again, whatever became of its pull request


def happens(world: World, number: int, event: str) -> None:
    match event:
        case "merged" | "squashed":
            world.forge.merge(REPO, number, "ann", "squash" if event == "squashed" else "merge")
        case "closed":
            world.forge.set_thread(REPO, number, state="closed")
        case "deleted":
            world.forge.delete_branch(REPO, BRANCH)
        case "a person's commit":
            world.forge.commit(REPO, {"README.md": "mine\n"}, branch=BRANCH, author="ann")
        case "the base went on":
            world.forge.commit(REPO, {"README.md": "theirs\n"}, author="ann")


def progress(world: World) -> None:
    where = ThreadRef(world.github(), world.issue, str(world.comment_id))
    where.put(PROGRESS, "**Working on it**", {"state": "on"})


@pytest.mark.parametrize(
    ("events", "signed"),
    [
        ("merged, deleted", False),
        ("squashed, deleted, the base went on", False),
        ("squashed, deleted, the base went on", True),
        ("a person's commit, squashed, deleted", False),
        ("closed", False),
        ("deleted", False),
    ],
)
def test_publishing_again_opens_no_second_one_and_says_what_became_of_the_first(
    world: World, events: str, signed: bool
):
    if signed:
        world.base_sha = world.forge.commit(REPO, {".github/agent.yml": "pull_request: {signed: true}\n"})
    progress(world)
    bundle = world.bundle()
    number = world.publish(bundle).pr_number
    for event in events.split(", "):
        happens(world, number, event)
    before = (world.branches(), world.pulls(), world.comments())
    again = world.publish(bundle)
    assert (world.branches(), world.pulls(), world.comments()) == before
    assert (again.pr_number, again.created, len(world.pulls())) == (number, False, 1)
    assert again.ended == ("merged" if "merged" in events or "squashed" in events else "closed")
    assert any("**Done:**" in body for body in world.comments())
    assert world.publish(world.bundle({"invoice.py": "total = sum\n"})).created, "another result is a new one"


# Cancelled


def test_one_that_was_opened_when_publishing_was_cancelled_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    progress(world)
    opening = GitHub.open_pull

    def cut(self: GitHub, *args: Any, **named: Any) -> PullRequest:
        opening(self, *args, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(GitHub, "open_pull", cut)
    with pytest.raises(KeyboardInterrupt):
        world.publish(world.bundle())
    assert any("**Done:** pull request" in body for body in world.comments())


# Which branch a new pull request gets

NAME = "agent/issue-7-totals"
NEW, OTHER = "2" * 40, "3" * 40


@pytest.mark.parametrize(
    ("heads", "branch"),
    [
        ({}, NAME),
        ({NAME: OTHER}, f"{NAME}-2"),
        ({NAME: OTHER, f"{NAME}-2": OTHER}, f"{NAME}-3"),
        ({NAME: NEW}, NAME),  # from a run that could not open its pull request
        # Names that git cannot keep beside ours.
        ({f"{NAME}/part": OTHER}, f"{NAME}-2"),
        ({f"{NAME}/a/b": OTHER}, f"{NAME}-2"),
        ({"agent/Issue-7-Totals": OTHER}, f"{NAME}-2"),
        ({"agent/ISSUE-7-totals/x": OTHER}, f"{NAME}-2"),
    ],
)
def test_the_first_free_name_is_taken(heads: dict[str, str], branch: str):
    assert free_branch(NAME, NEW, heads, set()) == branch
    assert free_branch(NAME, NEW, heads, {branch}) != branch


def test_a_hundred_taken_names_are_a_sentence():
    heads = {NAME: OTHER} | {f"{NAME}-{number}": OTHER for number in range(2, 200)}
    with pytest.raises(PublishError, match="taken"):
        free_branch(NAME, NEW, heads, set())
