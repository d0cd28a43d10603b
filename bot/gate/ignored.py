"""Which untracked paths the base commit's ignore rules leave out.

The rules are evaluated by git in a folder that holds the base's `.gitignore` files and nothing else, so what
the agent wrote into the tree's own cannot hide a file, or a change of a rule.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from bot.checkout.git import GitError
from bot.gate.objects import FILE, PROGRAM, Entry, contents
from bot.gate.scratch import Scratch


class IgnoreRules:
    """The base's rules, laid out on first use."""

    def __init__(self, scratch: Scratch, base: Mapping[str, Entry]) -> None:
        self._scratch = scratch
        self._folder = scratch.folder / "rules"
        self._rules = {
            path: entry.sha
            for path, entry in base.items()
            if path.rpartition("/")[2] == ".gitignore" and entry.mode in (FILE, PROGRAM)
        }

    def left_in(self, folders: Sequence[str], files: Sequence[str]) -> tuple[list[str], list[str]]:
        """`folders` and `files` without the ignored ones. None may be in a folder that is ignored."""
        if not folders and not files:
            return [], []
        self._lay_out()
        for folder in folders:
            # A rule ending in a slash matches folders only, and git looks on disk for which is which.
            os.makedirs(self._folder / folder, exist_ok=True)
        ignored = self._ignored([*folders, *(path for path in files if not (self._folder / path).is_dir())])
        return [path for path in folders if path not in ignored], [
            path for path in files if path not in ignored
        ]

    def _lay_out(self) -> None:
        if self._folder.exists():
            return
        self._folder.mkdir()
        for path, data in zip(
            self._rules, contents(self._scratch.git, list(self._rules.values())), strict=True
        ):
            target = Path(os.path.join(self._folder, path))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def _ignored(self, paths: Sequence[str]) -> set[str]:
        if not paths:
            return set()
        try:
            output = self._scratch.render.run(
                "check-ignore", "--no-index", "--stdin", "-z",
                # The dot keeps a name that begins with a colon from being read as a pattern.
                input=b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths),
                work_tree=self._folder, env={"GIT_LITERAL_PATHSPECS": "0"},
            )  # fmt: skip
        except GitError as error:
            # Exit code 1 and not a word: nothing is ignored.
            if error.detail == "exit code 1":
                return set()
            raise
        return {os.fsdecode(path)[2:] for path in output.split(b"\0") if path}
