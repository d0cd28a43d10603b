"""Decide which untracked paths the base commit's ignore rules exclude.

git evaluates the rules in a folder with the base's `.gitignore` files only, so that rules which the agent wrote into
the work tree can hide neither a file nor a change of a rule.

A rule that ends in a slash matches folders only, and git looks at the disk to find out what is a folder. Creating
thirty thousand folders there took a minute. Instead, `git check-ignore` is run for a missing file in each folder, which
decides nearly all of them.
"""

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from posixpath import basename
from typing import NamedTuple

from bot.checkout.git import GitError
from bot.checkout.objects import contents
from bot.gate.objects import FILE, PROGRAM, Scratch

_LONGEST = 4095
"""Bytes of the longest path that the kernel accepts."""


class _Rule(NamedTuple):
    """The last rule that matches a path, as git reports it: its file, its line and its pattern."""

    file: bytes = b""
    line: bytes = b""
    pattern: bytes = b""

    @property
    def ignores(self) -> bool:
        return bool(self.pattern) and not self.pattern.startswith(b"!")


class IgnoreRules:
    """The base's rules, written to a scratch folder on first use."""

    def __init__(self, scratch: Scratch) -> None:
        self._scratch = scratch
        self._folder = scratch.folder / "rules"
        self._inner = f"/{secrets.token_hex(16)}"
        self._rules = {
            path: entry.sha
            for path, entry in scratch.base.items()
            if basename(path) == ".gitignore" and entry.mode in (FILE, PROGRAM)
        }

    def left_in(self, folders: Sequence[str], files: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return `folders` and `files` without the ignored ones. None of them may be in an ignored folder."""
        self._write_rules()
        candidates = [path for path in files if not os.path.isdir(self._folder / path)]
        rules = self._match_rules(
            [*chain.from_iterable((path, path + self._inner) for path in folders), *candidates]
        )
        ignored = {path for path in candidates if rules[path].ignores}
        ignored.update(self._ignored_folders(folders, rules))
        return [path for path in folders if path not in ignored], [
            path for path in files if path not in ignored
        ]

    def is_too_long(self, path: str) -> bool:
        """Whether `git check-ignore` would fail: it reads the rules of every parent folder."""
        limit = _LONGEST - len(os.fsencode(self._folder)) - len(self._inner) - len("/.gitignore") - 1
        return len(path) > limit or len(os.fsencode(path)) > limit

    def _ignored_folders(self, folders: Sequence[str], rules: Mapping[str, _Rule]) -> Iterator[str]:
        """In `rules`, a path is a folder only where it contains the missing file. If the same rule matches that file
        and the path itself, the folder is created and git is run again."""
        doubtful: list[str] = []
        for path in folders:
            rule = rules[path + self._inner]
            if rule.ignores and rule.pattern.endswith(b"/"):
                yield path
            elif rule.ignores and rule == rules[path]:
                os.makedirs(self._folder / path, exist_ok=True)
                doubtful.append(path)
        second_rules = self._match_rules(doubtful)
        yield from (path for path in doubtful if second_rules[path].ignores)

    def _write_rules(self) -> None:
        if self._folder.exists():
            return
        self._folder.mkdir()
        for path, data in zip(
            self._rules, contents(self._scratch.git, list(self._rules.values())), strict=True
        ):
            target = Path(os.path.join(self._folder, path))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)

    def _match_rules(self, paths: Sequence[str]) -> Mapping[str, _Rule]:
        """Return the rule of each path, an empty one if none matches."""
        if not paths:
            return {}
        try:
            output = self._scratch.render.run(
                "check-ignore",
                "--no-index",
                "--verbose",
                "--non-matching",
                "--stdin",
                "-z",
                # The dot keeps a name that begins with a colon from being read as a pattern.
                input=b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths),
                work_tree=self._folder,
                env={"GIT_LITERAL_PATHSPECS": "0"},
            )
        except GitError as error:
            # Without output: no rule matches any path.
            if error.detail == "exit 1":
                return dict.fromkeys(paths, _Rule())
            raise
        fields = output.split(b"\0")
        return {
            os.fsdecode(fields[at + 3])[2:]: _Rule(*fields[at : at + 3])
            for at in range(0, len(fields) - 1, 4)
        }
