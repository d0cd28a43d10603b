"""The environment that `prepare: auto` installs, at a fixed path, from which the action's cache saves it.

Setup runs code of the repository, so its key is that of the whole tree of one commit, of one repository on one image.
What is restored under another key is not used."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bot import __version__
from bot.checkout.clone import Checkout
from bot.session.context.base import Preparation
from bot.session.run_folder import RunFolder

_FORMAT = 2
_VARIABLES = ("GITHUB_REPOSITORY_ID", "ImageOS", "ImageVersion", "PATH")
"""Of the key: the last three identify the tools of a runner. The `setup-*` actions add paths with a version to PATH."""


@dataclass(frozen=True, slots=True)
class EnvironmentRecord:
    """The record of a setup: `made` are its files that git does not ignore, `failure` is why it failed."""

    made: frozenset[str] = frozenset()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class EnvironmentStore:
    """`folder` has the prepared tree and the HOME of its setup; `key` identifies the inputs of the environment."""

    folder: RunFolder
    key: str

    def read(self) -> EnvironmentRecord | None:
        """The record, or `None` if there is none with this key."""
        try:
            content = json.loads(self._file.read_bytes())
            if content["key"] == self.key:
                return EnvironmentRecord(frozenset(map(str, content["made"])), str(content["failure"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return None

    def write(self, record: EnvironmentRecord) -> None:
        content = {"key": self.key, "made": sorted(record.made), "failure": record.failure}
        self._file.write_text(json.dumps(content))

    @property
    def _file(self) -> Path:
        return self.folder.root / "prepared.json"


def environment_store(
    preparation: Preparation,
    checkout: Checkout,
    mount: Path | None,
    environment: Mapping[str, str],
    repository: str,
) -> EnvironmentStore | None:
    """The store that the action names. `mount` is where commands see the tree, since programs in an environment name
    it; without a fixed one there is no store. `repository` is `owner/name`."""
    path = environment.get("SLASH_AGENT_PREPARED", "")
    if not path or mount is None:
        return None
    tree = checkout.git.run("rev-parse", f"{preparation.sha}^{{tree}}").decode().strip()
    machine = [platform.machine(), platform.libc_ver(), *(environment.get(name) for name in _VARIABLES)]
    parts = json.dumps([_FORMAT, __version__, repository.lower(), tree, str(mount), machine])
    key = f"slash-agent-environment-{hashlib.sha256(parts.encode()).hexdigest()}"
    return EnvironmentStore(RunFolder(Path(os.path.realpath(path))), key)
