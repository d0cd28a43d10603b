"""Validate the diagnostics of a tool host, since the host may be compromised."""

from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError

from bot.contracts.evidence import Answer, Problem, ServerUse
from bot.contracts.plain_text import printable
from bot.contracts.wire import WireError
from bot.ecosystems.registry import server_names

_MOST_NUMBER = 1 << 40
_LONGEST_PATH = 4096
_LONGEST = 1000


def _line(value: str) -> str:
    return " ".join(printable(value).split("\n"))


def _known(name: str) -> str:
    if name not in server_names():
        raise ValueError("it is no known server")
    return name


_Value = TypeVar("_Value", Problem, ServerUse)


def _checked(value: _Value) -> _Value:
    """The same with its texts each on one line."""
    _known(value.tool if isinstance(value, Problem) else value.name)
    values = value._asdict()
    for name, one in values.items():
        longest = _LONGEST_PATH if name == "path" else _LONGEST
        if len(one) > longest if isinstance(one, str) else not 0 <= one <= _MOST_NUMBER:
            raise ValueError(f"{name} is out of range")
    texts: dict[str, Any] = {name: _line(one) for name, one in values.items() if type(one) is str}
    return value._replace(**texts)


_Count = Annotated[int, Field(ge=0, le=_MOST_NUMBER)]
_Tools = tuple[tuple[Annotated[str, AfterValidator(_known)], Answer], ...]
_Problems = tuple[Annotated[Problem, AfterValidator(_checked)], ...]
_Uses = tuple[Annotated[ServerUse, AfterValidator(_checked)], ...]


class Diagnosis(NamedTuple):
    """The diagnostics of one tool result."""

    tools: Annotated[_Tools, Field(max_length=len(server_names()))]
    new: Annotated[_Problems, Field(max_length=20)]
    new_count: _Count
    note: Annotated[str, Field(max_length=_LONGEST), AfterValidator(_line)]
    servers: Annotated[_Uses, Field(max_length=2 * len(server_names()))]


def diagnosis(message: object) -> Diagnosis:
    """Parse the diagnostics of a tool result. Raises `WireError` for an invalid message."""
    try:
        return TypeAdapter(Diagnosis).validate_python(message)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise WireError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
