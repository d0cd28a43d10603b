"""A picture and a file in a thread, to the model, and in what is left of the run: journal, and whoever goes on
from it.

That an event's run looks for them at all is shown in `tests/attacks/test_text_into_the_model.py`.
"""

import base64
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.agent.journal import read_journal
from bot.contracts.journal import AttachedFile, Note, UserText
from bot.contracts.request import Request, Thread
from bot.session.context.github_env import read_github_environment
from bot.session.event.attachments import load_attachments
from slash_forge import Forge
from slash_forge.bundled import MAINTAINER
from tests.attachments.pictures import noise
from tests.support.model_script import Call, Say, Script, ScriptRequest, Step
from tests.support.stage import Stage, open_stage
from tests.support.verb_runs import VerbRun, request_in, run_verb
from tests.support.workspaces import eventually

pytestmark = pytest.mark.bubblewrap

LOG = b"12:00 the log\n"


@dataclass(frozen=True)
class Explained:
    """One run, its bundle put aside; `first` is its first message, as it was sent."""

    stage: Stage
    bundle: Path
    request: Request
    came: VerbRun
    first: Any


@pytest.fixture(scope="module")
def explained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explained]:
    with Forge() as forge:
        stage = open_stage(forge, tmp_path_factory.mktemp("pictures") / "stage", checks=False)
        address = forge.attach(stage.repo, MAINTAINER, noise(1600, 40))
        broken = forge.attach(stage.repo, MAINTAINER, b"\x89PNG\r\n\x1a\n")
        logs = forge.attach_file(stage.repo, MAINTAINER, "app.log", LOG)
        body = f"See ![the dashboard]({address}) and ![another]({broken}). [app.log]({logs})"
        thread = Thread(stage.new_issue(body=body), "60 seconds", body, MAINTAINER, "")
        request = request_in(stage, "explain", "this issue")._replace(thread=thread)
        came = run(stage, request, reads_the_log)
        kept = Path(shutil.copytree(stage.bundle, stage.folder / "kept"))
        yield Explained(stage, kept, request, came, first_of(came, 0))


def reads_the_log(asked: ScriptRequest) -> Step:
    if asked.number:
        return Say("It shows 60 seconds.")
    place = re.search(r"\S+/attachments/1/app.log", str(asked.body["messages"][0]["content"]))
    assert place
    return Call("view", {"path": place[0]})


def run(stage: Stage, request: Request, steps: Sequence[Step] | Script, **job: Any) -> VerbRun:
    where = read_github_environment(stage.environment(stage.sample.run_token))
    return run_verb(stage, request, steps, load_attachments=partial(load_attachments, where, None), **job)


def first_of(came: VerbRun, request: int) -> Any:
    parts = came.model_requests[request]["messages"][0]["content"]
    return [{name: value for name, value in part.items() if name != "cache_control"} for part in parts]


def test_the_model_reads_an_attached_log(explained: Explained):
    assert "12:00 the log" in explained.came.results[0]
    listed = explained.first[0]["text"].partition("# Attached files")[2]
    assert "`app.log`, 14 bytes, in the issue: /" in listed
    [file] = read_journal(explained.bundle / "journal.jsonl").records(AttachedFile)
    assert (file.name, file.size, len(file.sha256)) == ("app.log", 14, 64)
    assert "Attached file `app.log`" in (explained.bundle / "report.html").read_text()


def test_the_journal_in_the_bundle_brings_the_same_message_back(explained: Explained):
    journal = read_journal(explained.bundle / "journal.jsonl")
    [image] = next(journal.records(UserText)).images
    assert base64.b64encode(image.data).decode() == explained.first[1]["source"]["data"]
    notes = [note.text for note in journal.records(Note)]
    assert "picture 1, in the issue, 1568 × 39" in notes
    assert "An image in the issue is not shown to the model: it is broken or cut off." in notes


def test_nothing_of_the_decoding_is_left(explained: Explained):
    explained.came.folder.finish()
    explained.came.folder.tidy()
    assert eventually(lambda: not list(explained.came.folder.root.glob("gone-*")))
    assert not list(explained.came.folder.root.rglob("workspace-pictures"))
    assert "token=" not in (explained.bundle / "outcome.json").read_text()
