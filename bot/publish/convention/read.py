"""Read the convention of a base commit, say it to the model, and give a change a title that follows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bot.checkout.git import Git, GitError
from bot.checkout.objects import blobs_at
from bot.contracts.plain_text import quoted, quoted_names
from bot.ecosystems.registry import ecosystems
from bot.github.errors import GitHubError
from bot.parsing.parser import ParseError, Parser
from bot.publish.convention import form, from_files
from bot.publish.convention.form import Convention
from bot.publish.convention.from_history import observed

if TYPE_CHECKING:
    from bot.github.client import GitHub

_LARGEST_FILE = 100_000
_SHOWN = 20


class Conventions(NamedTuple):
    """The conventions that a title has to follow together, and a sentence for each source that could not be read."""

    all: tuple[Convention, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def body_width(self) -> int:
        """Characters of a line of a commit's body, 0 without a limit."""
        return min((one.body_width for one in self.all if one.body_width), default=0)

    def for_model(self) -> str:
        """Return a fact for the model; empty without a convention."""
        if not self.all:
            return ""
        types = min((one.types for one in self.all), key=len)
        scopes = next((one.scopes for one in self.all if one.scopes), ())
        rule = {"always": "the scope is required", "never": "no scope", "": "the scope may be left out"}
        longest = min((one.longest for one in self.all if one.longest), default=form.LONGEST)
        source = quoted_names([one.source for one in self.all if one.source], _SHOWN) or "its newest commits"
        forms = [
            f"the title matches the regular expression {quoted(one.header)}" for one in self.all if one.header
        ]
        parts = (
            *(forms or [f"the title of a change is `type(scope): subject`, as {source} have it"]),
            f"types: {quoted_names(types, _SHOWN)}",
            f"scopes: {quoted_names(scopes, _SHOWN)}" if scopes else "",
            rule[next((one.scope for one in self.all if one.scope), "")],
            f"at most {longest} characters",
        )
        return "; ".join(filter(None, parts))


def read_conventions(
    git: Git, sha: str, parser: Parser, recent: Callable[[], Sequence[str]] = tuple
) -> Conventions:
    """Return the conventions in files of commit `sha`, else that which most of the `recent()` subjects follow."""
    try:
        texts = dict(_texts(git, sha))
    except GitError as error:  # a clone without all objects
        return Conventions(problems=(f"The conventions for titles could not be read: {error.detail}.",))
    problems: list[str] = []
    conventions: list[Convention] = []
    if texts:
        try:
            read, unread = parser.parse(from_files.read_text, json.dumps(texts))
            conventions, problems = [form.of_json(one) for one in read], [str(one) for one in unread]
        except ParseError as error:
            problems = [f"The convention for titles in {', '.join(texts)} is not read: {error}."]
    if not conventions and (seen := observed(recent())):
        conventions = [seen]
    return Conventions(tuple(conventions), tuple(problems))


def _texts(git: Git, sha: str) -> Iterator[tuple[str, str]]:
    """Yield path and text of each file that has a convention, commitlint's first."""
    folders = ["./", ".config/", ".github/", ".github/workflows/"]
    names = git.listed("ls-tree", "-z", "--full-tree", "--name-only", sha, "--", *folders)
    manifests = {name for one in ecosystems() for name in one.manifests if name.endswith(".json")}
    own = [
        name for name in names if from_files.COMMITLINT.fullmatch(name) or from_files.SEMANTIC.fullmatch(name)
    ]
    shared = [name for name in names if name in manifests or from_files.WORKFLOW.fullmatch(name)]
    blobs = blobs_at(git, sha, [*own, *shared])
    for name in filter(blobs.__contains__, [*own, *shared]):
        text = blobs[name][:_LARGEST_FILE].decode(errors="replace")
        if name not in shared or from_files.WORD.search(text):
            yield name, text


def newest_subjects(github: GitHub, sha: str) -> list[str]:
    """Return the subjects of the newest commits up to `sha`; none if GitHub does not give them."""
    try:
        return github.subjects(sha)
    except GitHubError:
        return []
