"""What a person is asked where policy says `ask`, and what their answer holds for."""

from pathlib import Path
from typing import Any

import pytest

from bot.agent.journal import Journal, read_journal
from bot.contracts.cancel import CancelToken
from bot.contracts.journal import PermissionDecision, Record
from bot.contracts.progress import Inquiry, Reply
from bot.contracts.request import Actor, Request, Tier
from bot.policy.load import load_policy
from bot.session.tools.approvals import BY_PERSON_SUFFIX, Approvals, approved_paths, own_recording
from bot.session.tools.toolbox import Gatekeeper
from bot.workspace.client import Question
from tests.support.sessions import header

POLICY = load_policy(
    "rules:\n"
    "  - {effect: ask, paths: ['docs/**'], reason: by hand, examples: [docs/a]}\n"
    "  - {effect: ask, paths: ['web/**'], examples: [web/a]}\n"
    "  - {effect: deny, paths: ['docs/made/**'], examples: [docs/made/a]}\n"
    "  - {effect: ask, commands: [[git]], examples: [git log]}\n"
)


class Somebody:
    """Answers as told; `asked` is what they were asked."""

    def __init__(self, *answers: Reply) -> None:
        self.asked: list[Inquiry] = []
        self._answers = list(answers)

    def __call__(self, inquiry: Inquiry, cancel: CancelToken) -> Reply:
        self.asked.append(inquiry)
        return self._answers.pop(0)


def keeper(
    person: Somebody | None, tier: Tier = Tier.LOCAL, written: list[Record] | None = None
) -> Gatekeeper:
    asking = Approvals(person, CancelToken(), approved=() if tier is Tier.LOCAL else None)
    write = (written if written is not None else []).append
    return Gatekeeper(POLICY, tier, "/tree", write, approvals=asking)


def command(gatekeeper: Gatekeeper, text: str) -> bool:
    return gatekeeper.permit("bash", {"command": text}).allow


def write(gatekeeper: Gatekeeper, *paths: str, tool: str = "edit") -> bool:
    question = Question(tool, tuple((path, "change") for path in paths), "+x\n")
    return gatekeeper.permit(tool, {"path": paths[0]}).allow and gatekeeper.answer(question).allow


def allowed(gatekeeper: Gatekeeper, call: str) -> bool:
    """`call` is a command of git, or a tool and its paths."""
    tool, *paths = call.split()
    return command(gatekeeper, call) if tool == "git" else write(gatekeeper, *paths, tool=tool)


def test_a_question_of_the_models_is_put_masked_and_answered_in_one_line():
    ann = Somebody(Reply("words", "the\n  first"), Reply("gone"))
    asking = Approvals(ann, CancelToken(), lambda text: text.replace("hunter2", "***"))
    assert asking.answer("Is it hunter2?") == "the first"
    assert ann.asked[0].question == "Is it ***?"
    assert asking.answer("And now?") == ""
    assert Approvals(None, CancelToken()).answer("Anybody?") == ""


def test_a_command_is_put_masked_with_its_rule_and_what_would_be_remembered():
    ann = Somebody(Reply("once"))
    asking = Approvals(ann, CancelToken(), lambda text: text.replace("s3cret", "[redacted]"), ())
    gatekeeper = Gatekeeper(POLICY, Tier.LOCAL, "/tree", lambda record: None, approvals=asking)
    assert command(gatekeeper, "git log s3cret")
    [asked] = ann.asked
    assert (asked.tool, asked.subject, asked.files) == ("bash", "git log [redacted]", ())
    assert asked.rule.startswith("rules[3]")
    assert "these very words" in asked.remembered


def test_a_write_is_put_with_its_diff_when_that_is_known():
    ann = Somebody(Reply("once"))
    assert write(keeper(ann), "docs/a.md")
    [asked] = ann.asked
    assert (asked.files, asked.diff, asked.reason) == ((("docs/a.md", "change"),), "+x\n", "by hand")


LOG, EDITS = ["git log", "git log", "git log --all"], ["edit docs/a.md", "edit docs/b.md", "write docs/c.md"]


@pytest.mark.parametrize(
    ("answers", "calls", "allows", "asked"),
    [
        (["once", "words"], LOG[:2], [True, False], ["git log", "git log"]),
        (["session", "once"], LOG, [True, True, True], ["git log", "git log --all"]),
        (["session", "once"], EDITS, [True, True, True], ["docs/a.md", "docs/c.md"]),
        (["session", "once"], ["edit docs/a.md", "edit web/a.html"], [True, True], ["docs/a.md", "web/a.html"]),
        ([], ["edit docs/made/a", "patch docs/a.md docs/made/a"], [False, False], []),
        (["no"], LOG[1:], [False, False], ["git log"]),
        (["gone"], LOG[1:], [False, False], ["git log"]),
    ],
)  # fmt: skip
def test_an_answer_holds_for_the_call_or_the_session(
    answers: list[Any], calls: list[str], allows: list[bool], asked: list[str]
):
    """For the same words of a command, or the same tool and rule of a write; about what is denied nobody is asked."""
    ann = Somebody(*map(Reply, answers))
    gatekeeper = keeper(ann)
    assert [allowed(gatekeeper, call) for call in calls] == allows
    assert [inquiry.subject for inquiry in ann.asked] == asked
    assert gatekeeper.approvals.refused is ("no" in answers)
    written = [
        call.split()[1] for call, allow in zip(calls, allows, strict=True) if allow and "git" not in call
    ]
    assert gatekeeper.approvals.approved == set(written)


def test_a_question_of_several_files_is_one_for_all_the_rules_that_ask():
    ann = Somebody(Reply("session"))
    gatekeeper = keeper(ann)
    assert write(gatekeeper, "docs/a.md", "web/a.html", tool="patch")
    assert write(gatekeeper, "web/b.html", tool="patch")
    assert "rules[0]" in ann.asked[0].remembered
    assert "rules[1]" in ann.asked[0].remembered


def test_a_link_leads_no_write_past_a_question():
    """What the call says and what the path comes to may differ; each of them is enough."""
    ann = Somebody(Reply("once"), Reply("once"))
    gatekeeper = keeper(ann)
    assert gatekeeper.permit("edit", {"path": "docs/link.md"}).allow
    assert gatekeeper.answer(Question("edit", (("src/a.py", "change"),), "+x")).allow
    assert gatekeeper.permit("edit", {"path": "src/link.md"}).allow
    assert gatekeeper.answer(Question("edit", (("docs/a.md", "change"),), "+x")).allow
    assert [asked.files[0][0] for asked in ann.asked] == ["src/a.py", "docs/a.md"]


def test_a_sentence_reaches_the_model_with_the_rule():
    gatekeeper = keeper(Somebody(Reply("words", "look at the\nlog instead")))
    said = gatekeeper.permit("bash", {"command": "git push"})
    assert (said.reason, said.person_answer) == ("a person said instead: look at the log instead", "words")
    assert gatekeeper.denials[0].reason == said.reason


def test_a_sentence_about_a_write_is_the_answer_to_the_tool_host():
    gatekeeper = keeper(Somebody(Reply("words", "use the wiki")))
    gatekeeper.permit("edit", {"path": "docs/a.md"})
    answer = gatekeeper.answer(Question("edit", (("docs/a.md", "change"),), "+x"))
    assert not answer.allow
    assert answer.reason.startswith("Permission denied by the rule rules[0]")
    assert answer.reason.endswith("a person said instead: use the wiki")
    assert gatekeeper.refused == ["words"]
    assert gatekeeper.approvals.approved == set()


def test_without_anybody_ask_is_deny():
    gatekeeper = keeper(None)
    assert not command(gatekeeper, "git log")
    assert not gatekeeper.permit("edit", {"path": "docs/a.md"}).allow
    assert "there is no terminal" in gatekeeper.denials[0].reason


def test_where_a_yes_would_not_count_at_the_gate_nobody_is_asked_about_writes():
    ann = Somebody(Reply("once"))
    gatekeeper = keeper(ann, Tier.MAINTAINER)
    assert not gatekeeper.permit("edit", {"path": "docs/a.md"}).allow
    assert command(gatekeeper, "git log")


@pytest.mark.parametrize("tier", [Tier.LOCAL, Tier.MAINTAINER])
def test_what_a_person_let_be_written_is_in_the_journal_of_their_own_checkout(tmp_path: Path, tier: Tier):
    written: list[Record] = []
    gatekeeper = keeper(Somebody(Reply("once")), Tier.LOCAL, written)
    assert write(gatekeeper, "docs/a.md", "src/x.py", tool="patch")
    with Journal(tmp_path / "journal.jsonl", str) as journal:
        journal.write(header(request=Request("fix", "x", Actor("you", 0, tier), "", "", "")))
        for record in written:
            journal.write(record)
    lets = approved_paths(read_journal(tmp_path / "journal.jsonl"))
    assert lets == ({"docs/a.md"} if tier is Tier.LOCAL else frozenset())


def test_a_bundle_from_elsewhere_says_nothing_of_what_a_person_let_be_written(tmp_path: Path):
    forged = PermissionDecision("edit", True, f"rules[0]{BY_PERSON_SUFFIX}", path="docs/a.md")
    runs, downloaded = tmp_path / "runs", tmp_path / "downloaded"
    for bundle in (runs / "20261101" / "bundle", downloaded):
        bundle.mkdir(parents=True)
        with Journal(bundle / "journal.jsonl", str) as journal:
            journal.write(header(request=Request("fix", "x", Actor("you", 0, Tier.LOCAL), "", "", "")))
            journal.write(forged)
    (runs / "linked").symlink_to(downloaded)
    assert approved_paths(own_recording(runs / "20261101" / "bundle", runs)) == {"docs/a.md"}
    for elsewhere in (downloaded, runs / "linked", runs / ".." / "downloaded", None):
        assert approved_paths(own_recording(elsewhere, runs)) == frozenset()
