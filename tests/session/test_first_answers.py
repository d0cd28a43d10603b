"""The first answer to each of the first mistakes: the table in docs/troubleshooting.md, by whole workflows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from slash_forge.bundled import MAINTAINER, REPORTER
from tests.support.fix_script import DONE, fix_steps
from tests.support.model_script import Status, Step
from tests.support.model_server import ModelServer
from tests.support.runner import ROOT, WORKFLOWS, Job, Runner
from tests.support.stage import Stage
from tests.support.verb_runs import fork_pull
from tests.support.warm import warm_venv

pytestmark = pytest.mark.bubblewrap

PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
SECTION = PAGE.partition("## Answers to common mistakes\n")[2].partition("\n## ")[0]
COMMENT, CHECK, SUMMARY = "a comment", "a neutral check", "the job's summary"
KEY = "sk-canary-7be2"
FAST = ("a misspelled verb", "a stranger's pull request, with automatic reviews", "no key, for a review")


class Row(NamedTuple):
    mistake: str
    answer: str
    where: str
    jobs: str


ROWS = [
    Row(mistake, answer.removeprefix("`` ").removesuffix(" ``"), where, jobs)
    for mistake, answer, where, jobs in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.+?) \|$", SECTION, re.MULTILINE)
    if not mistake.startswith(("mistake", "---"))
]  # fmt: skip


@dataclass
class Scene:
    """One event. `thread` is the number of its issue or pull request, `edit` changes the workflow's text."""

    event: Any
    name: str = "issue_comment"
    workflow: str = "agent.yml"
    thread: int = 0
    key: str = KEY
    steps: list[Step] = field(default_factory=lambda: [DONE])
    edit: Callable[[str], str] = str
    sha: str = ""
    policy: str = ""


def _pull(stage: Stage) -> int:
    stage.forge.commit(stage.repo, {"note.txt": "x\n"}, branch="topic", author=MAINTAINER)
    return stage.forge.open_pull(stage.repo, MAINTAINER, "topic")


def _opened(stage: Stage, number: int, **fields: Any) -> Scene:
    event = stage.forge.pull_request_event(stage.repo, number, "opened", **fields)
    sha = event["pull_request"]["head"]["sha"]
    return Scene(event, "pull_request_target", "review.yml", number, sha=sha)


def _policy(stage: Stage, text: str) -> None:
    stage.forge.commit(stage.repo, {".github/agent.yml": text})


def _by_hand(text: str) -> str:
    """The one-job workflow, started by hand with an instruction."""
    return re.sub(r"    if: >-\n.*\n.*\n", "", text).replace(
        "        with:\n", "        with:\n          mode: both\n"
    )


def _no_key(stage: Stage) -> Scene:
    lines = "      with:\n        anthropic-api-key: ${{ secrets.ANTHROPIC_API_KEY }} # zizmor\n"
    stage.forge.commit(stage.repo, {".github/workflows/agent.yml": lines})
    return Scene(stage.sample.event, key="")


def _wrong_key(stage: Stage) -> Scene:
    unprepared = "          mode: run\n          prepare: 'off'\n"
    edit = lambda text: text.replace("          mode: run\n", unprepared)  # noqa: E731
    return Scene(stage.sample.event, steps=[Status(401, "invalid x-api-key")], edit=edit)


def _triager(stage: Stage) -> Scene:
    stage.forge.grant(stage.repo, REPORTER, "triage")
    return Scene(stage.ask("/agent fix this", REPORTER))


def _labelled(stage: Stage) -> Scene:
    stage.forge.grant(stage.repo, REPORTER, "triage")
    _policy(stage, "triggers: {labels: {agent-fix: fix}}\n")
    known = stage.sample.event
    event = {"action": "labeled", "issue": known["issue"], "label": {"name": "agent-fix"}}
    sender = stage.ask("x", REPORTER)["sender"]
    return Scene(
        {**event, "repository": known["repository"], "sender": sender}, "issues", "one-job.yml", edit=_by_hand
    )


def _fork_lines(stage: Stage) -> Scene:
    number = fork_pull(stage, {"a.txt": "a\n"})
    comment = stage.forge.review_comment(stage.repo, number, MAINTAINER, "a.txt", 1, body="/agent fix this")
    return Scene(
        stage.forge.review_comment_event(stage.repo, comment), "pull_request_review_comment", thread=number
    )


def _dependabot(stage: Stage) -> Scene:
    stage.forge.add_user("dependabot[bot]", kind="Bot")
    scene = _opened(stage, _pull(stage), sender="dependabot[bot]")
    # GitHub gives its events a token that only reads.
    scene.edit = lambda text: re.sub(r": write\b", ": read", text)
    return scene


def _empty(stage: Stage) -> Scene:
    repo = stage.forge.create_repository("riverbend", "empty")
    stage.forge.grant(repo, MAINTAINER, "write")
    number = stage.forge.create_issue(repo, MAINTAINER, "Nothing works", "")
    stage.sample = type(stage.sample)(**{**vars(stage.sample), "repository": repo, "issue": number})
    return Scene(stage.forge.comment(repo, number, MAINTAINER, "/agent fix this")[1])


def _merged(stage: Stage) -> Scene:
    number = _pull(stage)
    stage.forge.merge(stage.repo, number, MAINTAINER)
    return Scene(stage.ask("/agent fix this", number=number), thread=number)


def _locked(stage: Stage) -> Scene:
    stage.forge.set_thread(stage.repo, stage.sample.issue, locked=True)
    event = stage.sample.event
    return Scene({**event, "issue": {**event["issue"], "locked": True}})


def _archived(stage: Stage) -> Scene:
    event = stage.sample.event
    return Scene({**event, "repository": {**event["repository"], "archived": True}})


def _used_up(stage: Stage) -> Scene:
    _policy(stage, "tiers: {maintainer: {runs_a_day: 1}}\n")
    stage.forge.add_run(
        stage.repo, workflow=".github/workflows/agent.yml", event="issue_comment", actor=MAINTAINER
    )
    return Scene(stage.sample.event)


def _may_not_open(stage: Stage) -> Scene:
    stage.forge.allow_actions_pull_requests(stage.repo, False)
    return Scene(stage.sample.event, steps=fix_steps())


def _may_not_read(stage: Stage) -> Scene:
    stage.forge.make_private(stage.repo)
    edit = lambda text: re.sub(r"      contents: read.*\n", "", text)  # noqa: E731
    return Scene(stage.sample.event, edit=edit)


def _dispatched(stage: Stage) -> Scene:
    known = stage.sample.event
    inputs = {"instruction": "fix this", "number": "999"}
    event = {"inputs": inputs, "repository": known["repository"], "sender": known["sender"]}
    return Scene(event, "workflow_dispatch", "one-job.yml", edit=_by_hand)


def _suspended(stage: Stage) -> Scene:
    event = stage.ask("/agent fix this")
    for holder in (event["comment"], event):
        holder["user" if "body" in holder else "sender"] = {"login": "gone", "id": 4242, "type": "User"}
    return Scene(event)


SCENES: Mapping[str, Callable[[Stage], Scene]] = {
    "no key": _no_key,
    "no key, for a review": lambda stage: Scene(**{**vars(_opened(stage, _pull(stage))), "key": ""}),
    "a wrong key": _wrong_key,
    "a verb that your tier may not use": _triager,
    "a label of the policy, set by a person without the right to its verb": _labelled,
    "the wrong event, such as an edited comment": lambda stage: Scene(
        {**stage.ask("/agent fix this"), "action": "edited"}
    ),
    "a misspelled verb": lambda stage: Scene(stage.ask("/agent revew")),
    "a misspelled option": lambda stage: Scene(stage.ask("/agent fix --modle x this")),
    "words before the command": lambda stage: Scene(stage.ask("please /agent fix this")),
    "a verb in the wrong place": lambda stage: Scene(stage.ask("/agent review")),
    "nothing to continue": lambda stage: Scene(stage.ask("/agent continue")),
    "a stranger's command": lambda stage: Scene(stage.ask("/agent fix this", REPORTER)),
    "a stranger's pull request, with automatic reviews": lambda stage: _opened(
        stage, fork_pull(stage, {"a.txt": "a\n"})
    ),
    "a command on lines of a fork's pull request": _fork_lines,
    "a pull request by Dependabot, with automatic reviews": _dependabot,
    "an empty repository": _empty,
    "a policy that is not YAML": lambda stage: Scene(stage.sample.event, policy="checks: [\n"),
    "a policy that is not YAML, for a review": lambda stage: Scene(
        **{**vars(_opened(stage, _pull(stage))), "policy": "checks: [\n"}
    ),
    "an unknown key in the policy": lambda stage: Scene(stage.sample.event, policy="cheks: [make]\n"),
    "a merged pull request": _merged,
    "a locked conversation": _locked,
    "an archived repository": _archived,
    "an unknown provider": lambda stage: Scene(stage.ask("/agent fix --model nobody/knows this")),
    "too many runs on one day": _used_up,
    "Actions may not open pull requests": _may_not_open,
    "a job without `contents: read` in a private repository": _may_not_read,
    "an issue that does not exist": _dispatched,
    "a suspended or deleted account": _suspended,
}


def test_the_page_has_each_of_them():
    assert [row.mistake for row in ROWS] == list(SCENES)


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row.mistake, marks=[] if row.mistake in FAST else [pytest.mark.slow]) for row in ROWS]
)  # fmt: skip
def test_the_first_answer(stage: Stage, row: Row):
    """With `progress` comments of the gate: the last state of a comment counts."""
    scene = SCENES[row.mistake](stage)
    if scene.policy:
        _policy(stage, scene.policy)
    jobs = _run(stage, scene)
    answers = {
        COMMENT: stage.bot_comments(scene.thread),
        CHECK: [one["output"]["title"] for one in _checks(stage, scene)],
        SUMMARY: [job.summary.partition("\n\n")[2] for job in jobs.values() if job.summary],
    }
    assert "slash-agent demo" not in str(answers)
    assert KEY not in str(answers)
    answer = _plain(answers[row.where][-1]) if answers[row.where] else ""
    assert re.match(".*?".join(map(re.escape, row.answer.split("…"))), answer, re.DOTALL), (answers, jobs)
    for other in {COMMENT, CHECK} - {row.where}:
        assert answers[other] == []
    assert {"success": "green", "failure": "red"}.get(
        *{job.result for job in jobs.values()}, ""
    ) == row.jobs, jobs
    assert {one["conclusion"] for one in _checks(stage, scene)} <= {"neutral"}


def _run(stage: Stage, scene: Scene) -> dict[str, Job]:
    """The jobs that were not skipped."""
    text = scene.edit((WORKFLOWS / scene.workflow).read_text())
    with ModelServer(scene.steps) as server:
        file = f"{stage.repo}/.github/workflows/{scene.workflow}@refs/heads/main"
        variables = {"GITHUB_WORKFLOW_REF": file, "SLASH_AGENT_TEST_LEAVE_OUT_CHECKS": "1"}
        if scene.key:
            variables["ANTHROPIC_BASE_URL"] = server.url
        secrets = {"ANTHROPIC_API_KEY": scene.key} if scene.key else {}
        jobs = Runner(stage, warm_venv(), secrets, variables).workflow(scene.event, text, scene.name)
    return {id: job for id, job in jobs.items() if job.result != "skipped"}


def _checks(stage: Stage, scene: Scene) -> list[Any]:
    return list(stage.get(f"commits/{scene.sha}/check-runs")["check_runs"]) if scene.sha else []


def _plain(text: str) -> str:
    """Markdown without its escapes, bold and fence."""
    return re.sub(r"\\([^a-z0-9\s])|^```text\n", r"\1", text).replace("\u200b", "").replace("**", "").strip()
