"""The toolbox: one result for any call, and nothing runs that was not whole, known, fitting and allowed."""

from collections.abc import Mapping
from typing import Any

import pytest

from bot.agent.toolbox import CallExecution, Permission, Toolbox
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError
from bot.contracts.messages import ToolCall
from bot.contracts.tools import ToolOutcome
from tests.support.sessions import spec


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


def test_a_good_call_runs_and_is_answered_under_its_id() -> None:
    desk = Desk()
    executed = desk.call("view")
    assert (executed.result.call_id, executed.result.name, executed.result.content) == ("id1", "view", "fine")
    assert executed.ran
    assert desk.ran == [{"path": "a"}]


def test_a_call_that_is_not_whole_is_not_run_even_if_its_arguments_parse() -> None:
    desk = Desk()
    executed = desk.call("view", '{"path": "a"}', complete=False)
    assert executed.result.is_error
    assert not executed.ran
    assert desk.ran == []


@pytest.mark.parametrize("name", ["View", "VIEW", " view"])
def test_another_case_of_a_name_is_forgiven_and_named(name: str) -> None:
    executed = Desk().call(name)
    assert executed.ran
    assert executed.result.name == name
    assert f"took the tool name {name} as view" in executed.result.content


def test_another_case_that_could_mean_two_tools_is_not_guessed() -> None:
    desk = Desk("view", "VIEW")
    assert "no tool" in desk.call("View").result.content
    assert desk.ran == []


def test_an_unknown_tool_is_answered_with_the_closest_name_and_all_names() -> None:
    content = Desk().call("veiw").result.content
    assert content == 'There is no tool "veiw". Did you mean "view"? The tools are: view, ls.'


def test_a_name_like_none_is_answered_with_all_names() -> None:
    assert Desk().call("zzz" * 100).result.content.endswith("The tools are: view, ls.")


def test_bad_arguments_are_answered_and_not_run() -> None:
    desk = Desk()
    executed = desk.call("view", '{"path": ')
    assert "not JSON" in executed.result.content
    assert executed.permission is None
    assert desk.ran == []


def test_repairs_are_told_to_the_model() -> None:
    content = Desk().call("view", '{"path": "a", "x": 1}').result.content
    assert content == "fine\n\n(Arguments repaired: ignored the unknown argument x (known: path).)"


def test_a_denied_call_names_rule_and_reason_and_is_not_run() -> None:
    desk = Desk()
    executed = desk.call("view", '{"path": "secret"}')
    assert executed.denied
    assert executed.result.content == "Permission denied by the rule no-secrets: that file is private"
    assert desk.ran == []


def test_policy_that_cannot_decide_denies_by_failing() -> None:
    desk = Desk(permit_error=LookupError("rule"))
    executed = desk.call("view")
    assert executed.result.is_error
    assert desk.ran == []


def test_a_crash_in_a_handler_is_an_error_result_with_its_place() -> None:
    executed = Desk(error=ValueError("bad regex")).call("view")
    assert executed.result.is_error
    assert executed.result.content.startswith("The tool failed: ValueError: bad regex (in handle, line ")
    assert "ValueError" in executed.outcome.metadata["traceback"][-1]
    assert executed.fatal == ""


def test_an_error_for_people_is_fatal() -> None:
    assert Desk(error=AgentError("The sandbox is gone.")).call("view").fatal == "The sandbox is gone."


def test_an_interrupt_is_not_swallowed() -> None:
    class Interrupt(BaseException):
        pass

    desk = Desk()
    desk.error = Interrupt()  # type: ignore[assignment]  # a handler may raise it all the same
    with pytest.raises(Interrupt):
        desk.call("view")


def test_a_tool_without_a_handler_is_refused_when_the_session_starts() -> None:
    with pytest.raises(ValueError, match="no handler for view"):
        Toolbox([spec("view")], {}, lambda tool, arguments: Permission(True))
