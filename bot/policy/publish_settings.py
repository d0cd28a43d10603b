"""Keys of what is published, and of what a run may write on threads."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, GetPydanticSchema
from pydantic_core.core_schema import bool_schema

from bot.policy.field_types import ONCE, Glob, Line, key, line, one_of, problem, word
from bot.policy.protected_files import SERVICES
from bot.policy.writes import VERBS, is_ours


@dataclass(frozen=True)
class PullRequestPolicy:
    """A request may change `draft`, unless it is `always`."""

    keyword: Literal["Fixes", "Refs"] = key("Fixes", "The keyword that links the pull request to its issue.")
    draft: Annotated[
        bool | Literal["always"], GetPydanticSchema(lambda *_: bool_schema()), word("always", "always")
    ] = key(
        True, "Whether it is a draft unless the command says otherwise; always: whatever the command says."
    )
    sign_off: bool = key(False, "Add Signed-off-by to commit messages.")
    signed: bool = key(False, "Make the commit by GitHub's API, which signs it, in place of a push.")
    ci: Literal["start", "wait"] = key(
        "wait", "Whether CI on the change starts at once or waits for approval."
    )

    @property
    def always_draft(self) -> bool:
        return self.draft == "always"


def _not_ours(label: str) -> str:
    if is_ours(label):
        raise problem(f"`{label[:40]}` starts this bot, so a run may not set it")
    return label


Label = Annotated[Line, AfterValidator(_not_ours)]


@dataclass(frozen=True)
class WritesPolicy:
    """What runs may write on threads: `verbs` may write without a task, and set `labels`."""

    verbs: frozenset[Annotated[str, one_of(tuple(VERBS))]] = key(
        frozenset(), "Verbs that may write in their own thread, without a task."
    )
    labels: Annotated[tuple[Label, ...], ONCE] = key((), "Labels that these verbs may add and remove.")


@dataclass(frozen=True)
class Identity:
    """The author of commits in place of the account whose token pushes; empty for that account."""

    name: Annotated[
        str, line("a name without < and >", r"[^<>]*", schema=r"[^<>\u0000-\u001f\u007f-\u009f]+")
    ] = key("", "The author's name in place of the account's.")
    email: Annotated[
        str,
        line(
            "an address, as in bot@example.org",
            r"[^\s<>@\"]+@[^\s<>@\"]+",
            schema=r'[^\u0000-\u0020<>@"]+@[^\u0000-\u0020<>@"]+',
        ),
    ] = key("", "The author's address in place of the account's no-reply address.")


_Globs = Annotated[tuple[Glob, ...], Field(max_length=100)]


@dataclass(frozen=True)
class DiffPolicy:
    """What a change may hold that the gate withholds otherwise. `services` are those of `policy/protected_files.py`."""

    binaries: _Globs = key((), "Binary files that may be added or changed.")
    links: _Globs = key((), "Symbolic links that may be added or changed.")
    services: Annotated[tuple[Annotated[str, one_of(tuple(SERVICES))], ...], ONCE] = key(
        (), "CI and deployment services whose configuration may be changed."
    )
    deletions: bool = key(False, "Whether a change may delete more than half of the files, of 20 or more.")
