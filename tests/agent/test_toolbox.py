"""The toolbox: one result for any call, and nothing runs that was not whole, known, fitting and allowed.

What may be called now is told to the model, and refused at dispatch; tools and history are untouched (S-151..S-157)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bot.agent.conversation_context import Hooks
from bot.agent.limits import NOTICE_AT, RequestState, requests_left_notice
from bot.agent.toolbox import CallExecution, Masking, Permission, Toolbox, first_and_last_mask
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.journal import Result
from bot.contracts.messages import ToolCall
from bot.contracts.model import Complete, Failed, ModelRequest, OnRetry, unreported
from bot.contracts.outcome import StopReason
from bot.contracts.request import RunLimits
from bot.contracts.tools import ToolOutcome
from bot.session.context.profiles import masking_of, profile_of_verb
from bot.verbs.registry import MODEL_VERBS
from tests.support.scripted import ScriptedProvider, call, says
from tests.support.sessions import Bench, spec


class Desk:
    """A toolbox of a few tools that remembers which handlers were entered."""

    def __init__(
        self, *names: str, error: Exception | None = None, permit_error: Exception | None = None
    ) -> None:
        self.ran: list[Mapping[str, Any]] = []
        self.error = error
        self.permit_error = permit_error
        specs = [spec(name, {"path": {"type": "string"}}, ["path"]) for name in names or ("view", "ls")]
        self.toolbox = Toolbox(specs, {item.name: self.handle for item in specs}, self.permit)

    def handle(self, arguments: Mapping[str, Any], cancel: CancelToken) -> ToolOutcome:
        self.ran.append(arguments)
        if self.error:
            raise self.error
        return ToolOutcome("fine", metadata={"path": "a"})

    def permit(self, tool: str, arguments: Mapping[str, Any]) -> Permission:
        if self.permit_error:
            raise self.permit_error
        return Permission(arguments["path"] != "secret", "no-secrets", "that file is private")

    def call(self, name: str, arguments: str = '{"path": "a"}', complete: bool = True) -> CallExecution:
        return self.toolbox.execute(ToolCall("id1", name, arguments, complete), CancelToken())


NOT_RUN: dict[str, tuple[tuple[str, ...], tuple[str, str, bool], str]] = {
    "not whole, even if its arguments parse": ((), ("view", '{"path": "a"}', False), "smaller pieces"),
    "a case that could mean two tools": (("view", "VIEW"), ("View", "{}", True), 'There is no tool "View".'),
    "an unknown name": ((), ("veiw", "{}", True), '"veiw". Did you mean "view"? The tools are: view, ls.'),
    "a name like none": ((), ("zzz" * 100, "{}", True), "The tools are: view, ls."),
    "bad arguments": ((), ("view", '{"path": ', True), "not JSON"),
}


@pytest.mark.parametrize("name", NOT_RUN)
def test_a_call_that_cannot_be_run_is_answered(name: str):
    tools, called, said = NOT_RUN[name]
    desk = Desk(*tools)
    executed = desk.call(*called)
    assert said in executed.result.content
    assert (executed.result.is_error, executed.ran, executed.permission, desk.ran) == (True, False, None, [])


@pytest.mark.parametrize("name", ["View", "VIEW", " view"])
def test_another_case_of_a_name_is_forgiven_and_named(name: str):
    executed = Desk().call(name)
    assert executed.ran
    assert executed.result.name == name
    assert f"took the tool name {name} as view" in executed.result.content


def test_repairs_are_told_to_the_model():
    content = Desk().call("view", '{"path": "a", "x": 1}').result.content
    assert content == "fine\n\n(Arguments repaired: ignored the unknown argument x (known: path).)"


def test_a_denied_call_names_rule_and_reason_and_is_not_run():
    desk = Desk()
    executed = desk.call("view", '{"path": "secret"}')
    assert executed.denied
    assert executed.result.content == "Permission denied by the rule no-secrets: that file is private"
    assert desk.ran == []


def test_policy_that_cannot_decide_denies_by_failing():
    desk = Desk(permit_error=LookupError("rule"))
    executed = desk.call("view")
    assert executed.result.is_error
    assert desk.ran == []


def test_a_crash_in_a_handler_is_an_error_result_with_its_place():
    executed = Desk(error=ValueError("bad regex")).call("view")
    assert executed.result.is_error
    assert executed.result.content.startswith("The tool failed: ValueError: bad regex (in handle, line ")
    assert "ValueError" in executed.outcome.metadata["traceback"][-1]
    assert executed.fatal == ""


def test_an_error_for_people_is_fatal():
    assert Desk(error=AgentError("The sandbox is gone.")).call("view").fatal == "The sandbox is gone."


def test_an_interrupt_is_not_swallowed():
    class Interrupt(BaseException):
        pass

    desk = Desk()
    desk.error = Interrupt()  # type: ignore[assignment]  # a handler may raise it all the same
    with pytest.raises(Interrupt):
        desk.call("view")


def test_a_tool_without_a_handler_is_refused_when_the_session_starts():
    with pytest.raises(ValueError, match="no handler for view"):
        Toolbox([spec("view")], {}, lambda tool, arguments: Permission(True))


@dataclass
class Keeping(ScriptedProvider):
    asked: list[ModelRequest] = field(default_factory=list)

    def respond(
        self, request: ModelRequest, cancel: CancelToken, retrying: OnRetry = unreported
    ) -> Complete | Failed:
        self.asked.append(request)
        return super().respond(request, cancel)


def bench(folder: Path, masking: Masking, turns: int | None, *script: Complete) -> Bench:
    tools = {"hand_over": lambda values, cancel: ToolOutcome("Noted.")}
    return Bench(script, folder, tools, limits=RunLimits(turns=turns), model=Keeping, masking=masking)


def test_in_the_last_request_only_the_tools_that_hand_over_may_be_called(tmp_path: Path):
    script = [
        says(call("echo", '{"text": "1"}', "a")),
        says(call("echo", "{}", "b"), call("hand_over", "{}", "c")),
    ]
    here = bench(tmp_path, first_and_last_mask(["hand_over"]), 2, *script)
    assert here.run().stop is StopReason.TURNS
    assert [name for name, _ in here.ran] == ["echo", "hand_over"]
    refused = next(one for one in here.journal().records(Result) if one.call_id == "b")
    assert refused.is_error
    assert not refused.executed
    assert (
        "echo is not available now: this is the last answer of this run. Allowed: hand_over."
        in refused.content
    )
    assert isinstance(here.provider, Keeping)
    assert [request.allowed for request in here.provider.asked] == [None, ("hand_over",)]
    assert [request.required for request in here.provider.asked] == [False, False]


def test_where_nothing_hands_over_the_last_answer_is_words(tmp_path: Path):
    here = bench(tmp_path, first_and_last_mask(()), 1, says(call("echo", "{}", "a")))
    here.run()
    assert isinstance(here.provider, Keeping)
    [request] = here.provider.asked
    assert (request.required, request.allowed) == (False, ())
    [refused] = here.journal().records(Result)
    assert "Answer in words." in refused.content


@pytest.mark.parametrize(
    ("left", "said"),
    [(None, False), (NOTICE_AT + 1, False), (NOTICE_AT, True), (NOTICE_AT - 1, False), (1, True)],
)
def test_it_is_said_that_few_answers_are_left_and_before_the_last(left: int | None, said: bool):
    assert bool(requests_left_notice(RequestState(left), ["describe_change"])) is said


def test_what_is_said_names_how_to_hand_over():
    assert "with describe_change or ask_user" in requests_left_notice(
        RequestState(NOTICE_AT), ["describe_change", "ask_user"]
    )
    assert "with" not in requests_left_notice(RequestState(NOTICE_AT), [])
    last = "(Your next answer is the last. {} can be called in it: say what you have.)"
    assert requests_left_notice(RequestState(1), ["describe_change"]) == last.format("Only describe_change")
    assert requests_left_notice(RequestState(1), []) == last.format("No tool")


LOOKING = first_and_last_mask(["hand_over"], final=True, first_tools=["echo"])


def asked_for(here: Bench) -> list[tuple[bool, tuple[str, ...] | None]]:
    assert isinstance(here.provider, Keeping)
    return [(request.required, request.allowed) for request in here.provider.asked]


def test_the_first_request_asks_to_look_and_a_result_in_its_response_is_refused(tmp_path: Path):
    first = says(call("hand_over", "{}", "a"), call("todo", "{}", "b"))
    here = bench(tmp_path, LOOKING, None, first, says(call("hand_over", "{}", "c")), says("Done."))
    here.tools = {**here.tools, "todo": lambda values, cancel: ToolOutcome("Kept.")}
    here.run()
    assert asked_for(here) == [(True, ("echo",)), (False, None), (False, None)]
    assert [name for name, _ in here.ran] == ["todo", "hand_over"]
    refused = "hand_over is not available now: look at the code first. Allowed: echo."
    assert here.results()[0].content == refused


@pytest.mark.parametrize("handed_over", [False, True])
def test_what_must_be_handed_over_is_required_in_the_last_request_until_it_was(
    tmp_path: Path, handed_over: bool
):
    here = bench(tmp_path, LOOKING, 2, says(call("echo", "{}", "a")), says(call("hand_over", "{}", "b")))
    here.hooks = Hooks(has_result=lambda: handed_over)
    here.run()
    assert asked_for(here)[1:] == [(not handed_over, ("hand_over",))]


@pytest.mark.parametrize("verb", sorted(MODEL_VERBS))
def test_plan_and_review_begin_with_looking_and_no_other_verb(verb: str):
    profile = profile_of_verb(verb)
    masking = masking_of(profile)
    first, last = masking(RequestState(9, first=True)), masking(RequestState(1))
    judges = verb in ("plan", "review")
    assert (first is not None) is judges
    assert first is None or {"view", "grep", "task"} <= set(first.allowed) <= set(profile.all_tools) - {
        "todo"
    }
    assert first is None or not {*profile.results} & {*first.allowed}
    assert last is not None
    assert (last.allowed, last.required) == (profile.results, verb not in ("review", "explain"))


def test_tools_stay_the_same_object_and_requests_stay_prefixes_whatever_is_masked(tmp_path: Path):
    script = [says(call("echo", f'{{"text": "{n}"}}', f"c{n}")) for n in range(3)]
    here = bench(tmp_path, first_and_last_mask(["hand_over"]), 3, *script)
    here.run()
    assert isinstance(here.provider, Keeping)
    assert len({id(request.tools) for request in here.provider.asked}) == 1
    for earlier, later in itertools.pairwise(here.provider.requests):
        assert all(old is new for old, new in zip(earlier, later, strict=False))
