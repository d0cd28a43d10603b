"""Keys of checks and of what they need: setup, services, folders of the checkout."""

import posixpath
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

from bot.policy.field_types import (
    ONE_OR_MORE,
    Glob,
    JsonSchema,
    Line,
    Script,
    about,
    key,
    problem,
    raise_problems,
    repeated,
    seconds,
    short,
)
from bot.policy.tiers_and_budget import Egress

CHECK_TIMEOUT = 600.0
SETUP_TIMEOUT = 900.0
MAX_TIMEOUT = 6 * 3600


_Timeout = Annotated[float, seconds(MAX_TIMEOUT)]
_Reports = Annotated[tuple[Glob, ...], ONE_OR_MORE]


@dataclass(frozen=True)
class CheckSpec:
    """`timeout` is in seconds. `junit` are paths or patterns of the reports that it writes."""

    command: Annotated[Script, about("A shell command; it may have several lines.")]
    name: Line = key("", "The name of the check; by default its command.")
    timeout: _Timeout = key(CHECK_TIMEOUT, "The longest duration.")
    junit: _Reports = key((), "The JUnit XML file that it writes; tests are then compared by name.")
    fallback: bool = key(False, "Run it only if no check above counted a test.")


def _once_by_name(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    named = [replace(one, name=one.name or " ".join(one.command.split())[:80]) for one in checks]
    names = repeated(check.name for check in named)
    raise_problems(((n,), f"a second check has the name `{name}`") for n, name in names)
    return tuple(named)


Checks = Annotated[
    tuple[Annotated[CheckSpec, short("command", Script | CheckSpec)], ...], AfterValidator(_once_by_name)
]


@dataclass(frozen=True)
class SetupStep:
    """`timeout` is in seconds; `egress` are names of presets, whose hosts it may reach."""

    command: Annotated[Script, about("A shell command; it may have several lines.")]
    timeout: _Timeout = key(SETUP_TIMEOUT, "The longest duration.")
    egress: Egress = key((), "Package registries that this command can reach, by preset.")


@dataclass(frozen=True)
class ServiceSpec:
    """A server for tests, started inside the sandbox. `timeout` is in seconds."""

    name: Annotated[Line, about("The name of the server.")]
    command: Annotated[Script, about("The shell command of the server, which does not end by itself.")]
    ready: Annotated[Script, about("A shell command that succeeds once the server is ready.")]
    timeout: _Timeout = key(60.0, "The longest time until the server is ready.")


def _folder(folder: str) -> str:
    plain = posixpath.normpath(folder)
    if plain.startswith("/") or plain == "." or ".." in plain.split("/"):
        raise problem("expected a folder inside the repository, relative to its root")
    if plain.split("/")[0] == ".git":
        raise problem("the repository's .git is never brought in")
    return plain


_FOLDER: JsonSchema = {
    "title": "a folder inside the repository, relative to its root",
    "type": ["string", "number", "boolean"],
    "pattern": r"^[^/\u0000-\u001f\u007f-\u009f]",
}
Folders = tuple[Annotated[Line, AfterValidator(_folder), WithJsonSchema(_FOLDER)], ...]
