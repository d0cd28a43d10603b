"""`.github/action/admission.py`: who is kept out before anything is installed, and what the others see at once."""

import contextlib
import functools
import io
import os
import re
import sys
import types
from dataclasses import dataclass
from typing import Any

import pytest

from bot.contracts.request import Request
from bot.github.client import connect
from bot.policy.load import load_policy
from slash_forge.bundled import MAINTAINER, REPORTER
from tests.events.requests import Event, build_request
from tests.support.loopback import Listener, Response
from tests.support.programs import run_program
from tests.support.runner import ROOT
from tests.support.stage import Stage
from tests.support.verb_runs import fork_pull

SCRIPT = ROOT / ".github" / "action" / "admission.py"
FLOOD = 100


@dataclass(frozen=True)
class First:
    code: int
    outputs: dict[str, str]
    output: str
    calls: list[str]

    @property
    def goes_on(self) -> bool:
        return self.outputs["go"] == "true"


def first(
    stage: Stage, event: Any = None, name: str = "issue_comment", *, starts: bool = False, **environment: str
) -> First:
    """The script in this process, or with `starts` as the runner starts it: no site packages, and nothing of ours on
    the path but what the script adds."""
    written = stage.folder / "output"
    written.unlink(missing_ok=True)
    file = stage.event_file(stage.sample.event if event is None else event)
    before = len(stage.bot_requests())
    code, said = (run_step if starts else run_here)(
        stage.environment(
            **{
                "SLASH_AGENT_GITHUB_TOKEN": stage.sample.run_token,
                "GITHUB_ACTIONS": "true",
                "GITHUB_OUTPUT": str(written),
                "GITHUB_EVENT_NAME": name,
                "GITHUB_EVENT_PATH": str(file),
                "GITHUB_RUN_ID": "4711",
                **environment,
            }
        )
    )
    text = written.read_text() if written.exists() else ""
    outputs = {key: value for key, _, value in re.findall(r"([\w-]+)<<(\S+)\n(.*?)\n\2\n", text, re.DOTALL)}
    assert "Traceback" not in said, said
    return First(code, outputs, said, stage.bot_requests()[before:])


def run_step(environment: dict[str, str]) -> tuple[int, str]:
    completed = run_program([sys.executable, "-I", "-S", SCRIPT], env=environment, timeout=60)
    return completed.returncode, completed.stdout + completed.stderr


@functools.cache
def compiled() -> types.CodeType:
    return compile(SCRIPT.read_text(), SCRIPT, "exec")


def run_here(environment: dict[str, str]) -> tuple[int, str]:
    """Its exit code and what it printed."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as ended,
    ):
        patch.setattr(sys, "path", list(sys.path))
        patch.setattr(os, "environ", environment)
        exec(compiled(), {"__name__": "__main__", "__file__": str(SCRIPT)})
    return int(ended.value.code or 0), said.getvalue()


def silent(stage: Stage, event: Any, said: str, **environment: str) -> First:
    before = stage.bot_comments()
    result = first(stage, event, **environment)
    assert (result.code, result.outputs["go"]) == (0, "false")
    assert said in result.outputs["reason"]
    assert stage.bot_comments() == before
    assert len(result.calls) <= 3, result.calls
    assert not [line for line in result.calls if not line.startswith("GET ")]
    return result


# -- who goes on


def test_a_maintainer_sees_a_reaction_and_the_progress_comment(stage: Stage):
    result = first(stage, starts=True)
    assert (result.code, result.goes_on, result.outputs["verb"]) == (0, True, "fix")
    [comment] = stage.bot_comments()
    assert comment.startswith("**Working on it**")
    assert f"{stage.forge.url}/{stage.repo}/actions/runs/4711" in comment
    assert comment.rstrip().endswith(
        f"<!-- slash-agent progress request={stage.sample.comment} state=on run=4711 -->"
    )
    reactions = stage.get(f"issues/comments/{stage.sample.comment}/reactions")
    assert [(one["content"], one["user"]["login"]) for one in reactions] == [("eyes", "github-actions[bot]")]
    assert len(result.calls) <= 4


def test_where_nothing_could_be_installed_the_thread_says_so_and_retry_starts_it_again(stage: Stage):
    begun = first(stage)
    given = {"SLASH_AGENT_INSTALLED": "false", "SLASH_AGENT_COMMENT": begun.outputs["comment"]}
    ended = first(stage, starts=True, **given)
    assert (ended.code, ended.outputs["status"], ended.goes_on) == (0, "failed", False)
    [comment] = stage.bot_comments()
    assert comment.startswith("**Failed**")
    assert "could not be installed" in comment
    assert "`/agent retry`" in comment
    assert f"{stage.forge.url}/{stage.repo}/actions/runs/4711" in comment
    assert f"request={stage.sample.comment} state=over" in comment


@pytest.mark.parametrize("body", ["/agent status", "/agent help", "/agent stop"])
def test_what_is_answered_at_once_needs_no_progress_comment(stage: Stage, body: str):
    result = first(stage, stage.ask(body))
    assert result.goes_on
    assert stage.bot_comments() == []
    assert [line for line in result.calls if line.endswith("/reactions")]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("please /agent fix this", "`/agent fix this`"),
        ("/Agent fix this", "`/agent fix this`"),
        ("/agent revew this", "Did you mean `/agent review`?"),
        ("/agent fix --modle x this", "Did you mean `--model`?"),
        ("/agent review", "works on pull requests"),
    ],
)
def test_a_maintainers_slip_is_answered_at_once_with_the_right_form(stage: Stage, body: str, words: str):
    event = stage.ask(body)
    result = first(stage, event)
    assert (result.code, result.goes_on) == (0, False)
    [comment] = stage.bot_comments()
    assert words in comment.partition("\n")[0]
    assert "asked=no" in comment
    reactions = stage.get(f"issues/comments/{event['comment']['id']}/reactions")
    assert [one["content"] for one in reactions] == ["confused"]


def test_a_strangers_near_miss_gets_nothing(stage: Stage):
    silent(stage, stage.ask("please /agent fix this", REPORTER), "this comment starts nothing")


def test_a_dry_run_writes_nothing(stage: Stage):
    assert first(stage, SLASH_AGENT_DRY_RUN="true").goes_on
    refused = first(stage, stage.ask("/agent fix this", REPORTER), SLASH_AGENT_DRY_RUN="true")
    assert not refused.goes_on
    assert stage.writes() == []


def test_a_token_that_may_only_read_does_not_end_the_run(stage: Stage):
    reading = stage.forge.token(permissions={"contents": "read", "issues": "read"}, repo=stage.repo)
    result = first(stage, SLASH_AGENT_GITHUB_TOKEN=reading)
    assert (result.code, result.goes_on) == (0, True)
    assert "the comment could not be posted" in result.output


@pytest.mark.parametrize("status", [401, 403, 500])
def test_where_github_does_not_answer_the_full_check_decides(stage: Stage, status: int):
    stage.forge.fail_next("GET", "/collaborators/", status=status, body={"message": "no"}, times=2)
    result = first(stage, stage.ask("/agent fix this", REPORTER))
    assert result.goes_on
    assert f"{status}" in result.outputs["reason"]
    assert stage.bot_comments() == []


# -- in a job of its own, before the one that may have to wait

GATE = {"SLASH_AGENT_MODE": "gate"}


def test_the_gate_hands_on_that_it_goes_on_and_with_which_comment(stage: Stage):
    result = first(stage, **GATE)
    [comment] = stage.get(f"issues/{stage.sample.issue}/comments?per_page=100")[-1:]
    assert (result.code, result.outputs["gate"]) == (0, f"go {comment['id']}")
    assert "go" not in result.outputs, "nothing else of the action is run in this job"
    assert comment["body"].startswith("**Queued**\n\n- starts when a runner is free")
    assert "state=on queued=yes run=4711 -->" in comment["body"]
    assert len(result.calls) <= 4
    after = first(stage, SLASH_AGENT_GATE=result.outputs["gate"], SLASH_AGENT_MODE="run")
    assert (after.goes_on, after.outputs["comment"], after.calls) == (True, str(comment["id"]), [])


@pytest.mark.parametrize("given", ["", "no", "goes", "go; echo", "go 1\n2"])
def test_only_the_gates_own_word_lets_by(stage: Stage, given: str):
    result = first(stage, stage.ask("/agent fix this", REPORTER), SLASH_AGENT_GATE=given)
    assert result.goes_on is given.startswith("go ")
    assert "comment" not in result.outputs


# -- what nobody wrote: a push to a pull request, a label, a failed run


def test_a_question_needs_no_preparation(stage: Stage):
    assert "commit" not in first(stage, stage.ask("/agent explain this"), **GATE).outputs
    assert first(stage, stage.ask("/agent fix this"), **GATE).outputs["commit"] == "main"


@pytest.mark.parametrize("changed", ["stats.py", "requirements.txt"])
@pytest.mark.parametrize("is_fork", [True, False])
def test_a122_only_a_head_of_this_repository_is_installed_and_only_if_its_lock_files_differ(
    stage: Stage, changed: str, is_fork: bool
):
    if is_fork:
        number = fork_pull(stage, {changed: "# changed\n"})
    else:
        stage.forge.commit(stage.repo, {changed: "# changed\n"}, branch="topic", author=MAINTAINER)
        number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    pull = stage.get(f"pulls/{number}")
    event = stage.ask("/agent fix this", number=number)
    outputs = first(stage, event, GITHUB_SERVER_URL="https://github.com", **GATE).outputs
    own = pull["base"]["sha"] if changed == "stats.py" else "" if is_fork else pull["head"]["sha"]
    assert outputs.get("commit", "") == own
    # A server that may not know `cache-mode`: what runs there could write the cache.
    if not is_fork and changed == "requirements.txt":
        assert "commit" not in first(stage, event, GITHUB_RUN_ATTEMPT="2", **GATE).outputs


MANY = {f"docs/{number:03}.md": "x\n" for number in range(105)}


@pytest.mark.parametrize("more", [{}, {"zoo/package-lock.json": "{}\n"}, {"package-lock.json": None}])
def test_a_lock_file_behind_the_first_hundred_files_counts_and_a_hundred_others_do_not(
    stage: Stage, more: dict[str, str | None]
):
    stage.forge.commit(stage.repo, {"package-lock.json": "[]\n" * 20})
    moved = {"zoo.txt": "[]\n" * 20} if None in more.values() else {}
    stage.forge.commit(stage.repo, MANY | moved | more, branch="topic", author=MAINTAINER)
    number = stage.forge.open_pull(stage.repo, MAINTAINER, "topic")
    event = stage.ask("/agent fix this", number=number)
    pull = stage.get(f"pulls/{number}")
    outputs = first(stage, event, GITHUB_SERVER_URL="https://github.com", **GATE).outputs
    assert outputs["commit"] == pull["head" if more else "base"]["sha"]


def test_a122_for_a_stranger_no_job_follows(stage: Stage):
    outputs = first(stage, stage.ask("/agent fix this", REPORTER), **GATE).outputs
    assert "commit" not in outputs and "gate" not in outputs


def pull_event(stage: Stage, login: str, action: str = "synchronize", draft: bool = False) -> dict[str, Any]:
    """An event of a pull request from a fork of `REPORTER`'s, caused by `login`."""
    if not stage.get("pulls?state=all"):
        fork = stage.forge.fork(stage.repo, REPORTER)
        stage.forge.commit(fork, {"a.txt": "a\n"}, branch="topic", author=REPORTER)
        stage.forge.open_pull(stage.repo, REPORTER, f"{REPORTER}:topic")
    pull = {**stage.get("pulls?state=all")[0], "draft": draft, "author_association": "OWNER"}
    sender = stage.ask("hello", login)["sender"]
    repository = stage.sample.event["repository"]
    return {
        "action": action,
        "number": pull["number"],
        "pull_request": pull,
        "sender": sender,
        "repository": repository,
    }


TARGET = "pull_request_target"


def pushed(stage: Stage, event: dict[str, Any], name: str = TARGET) -> First:
    """Silent either way: nobody asked in words."""
    result = first(stage, event, name)
    assert result.code == 0, result.output
    assert stage.writes() == []
    assert len(result.calls) <= 3, result.calls
    return result


@pytest.mark.parametrize(
    ("policy", "role", "goes_on"),
    [
        ("", "", False),
        ("thread_author: [review]\n", "", True),
        ("tiers:\n  outsider: {verbs: [review]}\n", "", True),
        ("", "triage", True),
    ],
)
def test_an_outsiders_push_costs_no_install_unless_the_policy_speaks_of_them(
    stage: Stage, policy: str, role: Any, goes_on: bool
):
    """The payload calls its author the owner, which is believed of nobody."""
    if policy:
        stage.forge.commit(stage.repo, {".github/agent.yml": policy})
    if role:
        stage.forge.grant(stage.repo, REPORTER, role)
    result = pushed(stage, pull_event(stage, REPORTER))
    assert result.goes_on is goes_on
    assert goes_on or "`thread_author: [review]`" in result.outputs["note"]
    assert not goes_on or "note" not in result.outputs


def test_a_draft_is_looked_at_only_where_the_policy_speaks_of_drafts(stage: Stage):
    event = pull_event(stage, MAINTAINER, draft=True)
    assert not pushed(stage, event).goes_on
    stage.forge.commit(stage.repo, {".github/agent.yml": "review: {drafts: true}\n"})
    assert pushed(stage, event).goes_on


def test_a_bots_push_and_one_of_another_account_under_a_known_name_are_refused(stage: Stage):
    stage.forge.add_user("helpful[bot]", kind="Bot")
    assert not pushed(stage, pull_event(stage, "helpful[bot]")).goes_on
    event = pull_event(stage, REPORTER)
    event["sender"]["login"] = MAINTAINER
    assert not pushed(stage, event).goes_on


def test_a_label_by_somebody_without_rights_sets_nothing_off(stage: Stage):
    stage.forge.commit(stage.repo, {".github/agent.yml": "triggers:\n  labels: {agent-fix: fix}\n"})
    base = {"action": "labeled", "label": {"name": "agent-fix"}, "issue": stage.sample.event["issue"]}
    for login, goes_on in ((REPORTER, False), (MAINTAINER, True)):
        event = {
            **base,
            "sender": stage.ask("x", login)["sender"],
            "repository": stage.sample.event["repository"],
        }
        assert pushed(stage, event, "issues").goes_on is goes_on


def test_the_named_policy_is_the_one_that_is_looked_through(stage: Stage):
    stage.forge.commit(stage.repo, {".github/strict.yml": "tiers:\n  outsider: {verbs: [review]}\n"})
    event = stage.ask("/agent review", REPORTER)
    assert not first(stage, event).goes_on
    assert first(stage, event, SLASH_AGENT_POLICY=".github/strict.yml").goes_on
    assert first(stage, event, SLASH_AGENT_POLICY="../strict.yml").code == 2


# -- who does not


def test_a_stranger_is_told_once_a_day_and_then_nothing(stage: Stage):
    result = first(stage, stage.ask("/agent fix this", REPORTER))
    assert not result.goes_on
    [reply] = stage.bot_comments()
    assert reply.startswith(f"Thanks for your interest, {REPORTER}. Only people with write access")
    assert "A maintainer can run `/agent fix` on this issue, or allow others in `.github/agent.yml`." in reply
    assert len(result.calls) <= 5
    silent(stage, stage.ask("/agent fix this", REPORTER), "got an answer of this kind today")
    elsewhere = stage.new_issue()
    silent(stage, stage.ask("/agent please", REPORTER, elsewhere), "got an answer of this kind today")
    assert stage.bot_comments(elsewhere) == []


@pytest.mark.parametrize("verb", ["help", "status"])
def test_an_answer_to_a_stranger_and_a_refusal_do_not_use_up_one_another(stage: Stage, verb: str):
    answer_to_reader = first(stage, stage.ask(f"/agent {verb}", REPORTER))
    assert answer_to_reader.goes_on
    assert len(answer_to_reader.calls) <= 4
    first(stage, stage.ask("/agent fix this", REPORTER))
    assert first(stage, stage.ask(f"/agent {verb}", REPORTER)).goes_on
    answered = f"Help.\n\n<!-- slash-agent answer request=1 to={stage.forge.add_user(REPORTER)} -->"
    stage.forge.comment(stage.repo, stage.sample.issue, "github-actions[bot]", answered)
    silent(stage, stage.ask(f"/agent {verb}", REPORTER), "got an answer of this kind today")


@pytest.mark.parametrize(
    ("login", "at"),
    [(MAINTAINER, ""), ("github-actions[bot]", "2026-01-01T00:00:00Z")],
    ids=["a mark that a person wrote", "a refusal of another day"],
)
def test_what_silences_nobody(stage: Stage, login: str, at: str):
    account = stage.forge.add_user(REPORTER)
    refusal = f"No.\n\n<!-- slash-agent refused request=1 to={account} -->"
    stage.forge.comment(stage.repo, stage.sample.issue, login, refusal, **({"at": at} if at else {}))
    before = len(stage.bot_comments())
    first(stage, stage.ask("/agent fix this", REPORTER))
    assert len(stage.bot_comments()) == before + 1


def test_a_flood_buys_no_answer(stage: Stage):
    for number in range(FLOOD):
        stage.forge.comment(stage.repo, stage.sample.issue, REPORTER, f"flood {number}")
    silent(stage, stage.ask("/agent fix this", REPORTER), "got an answer of this kind today")


def test_the_payload_makes_nobody_a_maintainer(stage: Stage):
    event = stage.ask("/agent fix this", REPORTER)
    event["comment"]["author_association"] = "OWNER"
    first(stage, event)
    assert stage.bot_comments() == []
    event["comment"]["user"]["login"] = event["sender"]["login"] = MAINTAINER
    silent(stage, event, "GitHub knows")


def test_a_bot_is_refused_in_silence_and_goes_on_where_the_policy_names_it(stage: Stage):
    account = stage.forge.add_user("helpful[bot]", kind="Bot")
    event = stage.ask("/agent review", "helpful[bot]")
    assert len(silent(stage, event, "is a bot").calls) == 1
    stage.forge.commit(
        stage.repo, {".github/agent.yml": f"version: 1\nbots:\n  - id: {account}\n    verbs: [review]\n"}
    )
    assert first(stage, event).goes_on


def test_what_is_no_command_costs_no_call(stage: Stage):
    assert silent(stage, stage.ask("Thanks!"), "no `/agent` command").calls == []
    ghost = stage.ask("/agent fix this", REPORTER)
    ghost["comment"]["user"] = None
    assert silent(stage, ghost, "The account that gave the command is deleted").calls == []
    assert silent(stage, {**stage.sample.event, "action": "edited"}, "edited").calls == []


@pytest.mark.parametrize("payload", ["", "[]", "{", '{"action": "created"}'])
def test_a_payload_that_is_none_ends_with_a_sentence(stage: Stage, payload: str):
    result = first(stage, payload, starts=payload == "{")
    assert result.code == 2
    assert "go" not in result.outputs
    assert len(result.output.splitlines()) == 1


def test_without_a_token_the_input_is_named(stage: Stage):
    result = first(stage, SLASH_AGENT_GITHUB_TOKEN="")
    assert result.code == 2
    assert "github-token" in result.output


# -- how fast


def test_nothing_beyond_the_standard_library_is_imported(stage: Stage):
    completed = run_program([sys.executable, "-I", "-S", "-X", "importtime", SCRIPT], env={})
    imported = {
        line.rpartition("|")[2].strip().partition(".")[0]
        for line in completed.stderr.splitlines()
        if "|" in line
    }
    assert "bot" in imported
    assert not imported & {"yaml", "github", "requests", "pydantic", "site"}


# -- the full check behind it


@pytest.mark.parametrize("private", [False, True])
@pytest.mark.parametrize("role", ["", "read", "triage", "write", "admin"])
@pytest.mark.parametrize("verb", ["fix this", "explain this", "help"])
def test_nobody_is_kept_out_whom_the_full_check_lets_in(stage: Stage, role: Any, private: bool, verb: str):
    repo = stage.forge.create_repository(
        "riverbend", "table", stage.forge.git_folder(stage.repo), private=private
    )
    if role:
        stage.forge.grant(repo, REPORTER, role)
    number = stage.forge.create_issue(repo, MAINTAINER if role else REPORTER, "Nothing works", "")
    _, payload = stage.forge.comment(repo, number, REPORTER, f"/agent {verb}")
    token = stage.forge.token(permissions={"contents": "read", "issues": "write"}, repo=repo)
    github = connect(token, stage.forge.api_url, repo)
    event = Event("issue_comment", payload)
    let_in = isinstance(build_request(event, github, lambda: load_policy(None)), Request)
    goes_on = first(stage, payload, SLASH_AGENT_GITHUB_TOKEN=token, GITHUB_REPOSITORY=repo).goes_on
    assert goes_on or not let_in
    if role in ("write", "admin") or (role and verb != "fix this"):
        assert let_in


def test_a_redirect_does_not_carry_the_token_to_another_host(stage: Stage):
    with Listener(
        lambda _: Response(302, headers={"Location": f"http://localhost:{api.port}/stolen"})
    ) as api:
        result = first(stage, GITHUB_API_URL=api.url)
    assert (result.code, result.outputs["go"]) == (0, "true"), "the full check decides"
    assert len(api.requests) == 1
