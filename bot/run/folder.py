"""Where one run keeps what it has, from its first second on: a folder that outlives a crash."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from bot.contracts.errors import UsageError
from bot.run.removal import remove


@dataclass(frozen=True, slots=True)
class RunFolder:
    """`root` holds everything of one run. Only `workshop*` and the trees are ever visible inside a sandbox."""

    root: Path

    @property
    def journal(self) -> Path:
        return self.root / "journal.jsonl"

    @property
    def facts(self) -> Path:
        return self.root / "run.json"

    @property
    def bundle(self) -> Path:
        return self.root / "bundle"

    @property
    def tree(self) -> Path:
        return self.root / "tree"

    @property
    def history(self) -> Path:
        """Where the checkout is that the run works on, if its policy asks for more of the history."""
        return self.root / "history"

    @property
    def has_tree(self) -> bool:
        """Whether what the run made can still be had from its work tree."""
        return self.tree.is_dir()

    @property
    def skills(self) -> Path:
        """The skills that the model loaded; shown read-only inside the agent's workshop."""
        return self.root / "skills"

    @property
    def prepared(self) -> Path:
        """The tree that `bring:` and `setup:` were done in, where there were any."""
        return self.root / "tree-prepared"

    def keep_header(self) -> None:
        """A second copy of the journal's first line, for `salvage` of a run whose journal is damaged. On a full disk
        there is none."""
        with contextlib.suppress(OSError), self.journal.open("rb") as file:
            self.facts.write_bytes(file.readline())

    def write_prepared(self, links: Mapping[str, str], made: Collection[str]) -> None:
        """Keep which links in the work tree are ours and which files setup made: `salvage` must know."""
        if links or made:
            self._prepared.write_text(json.dumps({"links": dict(links), "made": sorted(made)}))

    def read_prepared(self) -> tuple[Mapping[str, str], frozenset[str]]:
        """The links, and the files that setup made."""
        try:
            kept = json.loads(self._prepared.read_text())
        except FileNotFoundError:
            return {}, frozenset()
        return dict(kept["links"]), frozenset(kept["made"])

    @property
    def _prepared(self) -> Path:
        return self.root / "prepared.json"

    @property
    def archive(self) -> Path:
        """What is kept for the model to look up; shown read-only inside the agent's workshop."""
        folder = self.root / "archive"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def workshop(self, name: str) -> Path:
        """The folder for one workshop's `tmp` and `spill`; there already where that one did not start."""
        folder = self.root / f"workshop-{name}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def home(self, name: str) -> Path:
        """The HOME of the commands of that workshop."""
        return self.workshop(name) / "tmp" / "home"

    @property
    def begun(self) -> bool:
        """Whether the journal holds anything: before that there is nothing to keep, salvage or report."""
        return has_begun(self.journal)

    def finish(self) -> None:
        """The result is kept elsewhere: the work tree loses its name, and `bot/run/cleanup.py` may remove it."""
        for whole in (self.tree, self.history):
            with contextlib.suppress(FileNotFoundError):
                whole.rename(self.root / f"gone-{whole.name}")

    def drop_trees(self) -> None:
        """Remove what only the run itself needed; the journal and the bundle stay. Half a work tree must not be taken
        for what the run made, so it loses its name first."""
        self.finish()
        for entry in self.root.iterdir():
            if entry.is_dir() and entry != self.bundle:
                remove(entry)

    def drop_rest(self) -> None:
        """Remove what `salvage` does not need of a run that died: every work tree but one."""
        for entry in self.root.iterdir():
            needed = entry.name in _FOR_SALVAGE or entry.name.startswith("workshop-agent-")
            if not needed and entry.is_dir() and not entry.is_symlink():
                remove(entry)

    def drop(self) -> None:
        """Remove all of it."""
        remove(self.root)


_FOR_SALVAGE = ("tree", "history", "trusted.git", "bundle", "archive")


def has_begun(journal: Path) -> bool:
    try:
        return journal.stat().st_size > 0
    except FileNotFoundError:
        return False


def new_folder(environment: Mapping[str, str]) -> RunFolder:
    """A fresh run folder: under the runner's temp folder in Actions, else under the user's state folder."""
    parent = parent_folder(environment)
    try:
        parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        root = tempfile.mkdtemp(prefix=time.strftime("%Y%m%d-%H%M%S-", time.gmtime()), dir=parent)
    except OSError as error:
        raise UsageError(f"no run folder can be made under {parent}: {error.strerror}") from error
    return RunFolder(Path(root).resolve())


def parent_folder(environment: Mapping[str, str]) -> Path:
    """Where run folders are made."""
    if runner_temp := environment.get("RUNNER_TEMP"):
        return Path(runner_temp) / "slash-agent"
    home = environment.get("HOME") or tempfile.gettempdir()
    state = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return Path(state) / "slash-agent" / "runs"
