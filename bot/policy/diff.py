"""The policy file's key `diff`: what a change may hold that the gate withholds otherwise."""

from __future__ import annotations

from bot.policy.kinds import Kind, choice, glob, list_of
from bot.policy.protected import SERVICES
from bot.policy.schema import DiffPolicy
from bot.policy.table import Key, Table

_MOST_GLOBS = 100
_GLOBS = list_of(
    glob(),
    most=_MOST_GLOBS,
    over=f"at most {_MOST_GLOBS} globs are listed; `**` stands for any number of folders",
)
_SERVICES = list_of(
    choice(list(SERVICES)), most=len(SERVICES), over=f"there are {len(SERVICES)} services", once=True
)
DIFF = Table(
    (
        Key("binaries", _GLOBS, "Binary files that may be made or changed."),
        Key("links", _GLOBS, "Symbolic links that may be made or changed."),
        Key("services", _SERVICES, "CI and deployment services whose configuration may be changed."),
    )
)
DIFF_KIND: Kind[DiffPolicy] = DIFF.over(DiffPolicy())
