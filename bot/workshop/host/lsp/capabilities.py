"""What we tell a server that we can do, and what we read of its own abilities."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.workshop.host.lsp import tsserver
from bot.workshop.host.lsp.positions import OFFERED, UTF16, UTF32
from bot.workshop.host.lsp.uris import uri_of

NO_SYNC, FULL, INCREMENTAL = 0, 1, 2
_NUMBER = re.compile(r"\d[\w.+-]{0,40}")
_SHOWN = 40

_OURS: Mapping[str, Any] = {
    "general": {"positionEncodings": list(OFFERED)},
    "textDocument": {
        "synchronization": {"didSave": True},
        "publishDiagnostics": {"versionSupport": True, "tagSupport": {"valueSet": [1, 2]}},
        # Announced, since basedpyright falls back to push without a word where it is not.
        "diagnostic": {"dynamicRegistration": True},
    },
    "workspace": {
        "applyEdit": False,
        "configuration": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceFolders": True,
        "diagnostics": {"refreshSupport": True},
    },
    "window": {"workDoneProgress": True},
}


def initialize_params(root: Path, options: object) -> dict[str, Any]:
    uri = uri_of(str(root))
    params: dict[str, Any] = {
        "processId": os.getpid(),
        "clientInfo": {"name": "slash-agent"},
        "rootUri": uri,
        "workspaceFolders": [{"uri": uri, "name": root.name or "root"}],
        "capabilities": _OURS,
    }
    return params if options is None else params | {"initializationOptions": options}


@dataclass(frozen=True, slots=True)
class Abilities:
    """Of a server. `pull` are the options under which it answers `textDocument/diagnostic`, None where it did not say
    so at once; `tsserver`: it can be asked for TypeScript's own answers instead."""

    sync: int = FULL
    saves: bool = False
    saves_text: bool = False
    pull: Mapping[str, Any] | None = None
    tsserver: bool = False
    encoding: str = UTF16
    version: str = ""


def abilities(answer: object) -> Abilities:
    """Of the answer to `initialize`, whatever that is."""
    answer = _mapping(answer)
    said = _mapping(answer.get("capabilities"))
    sync = said.get("textDocumentSync")
    save = sync.get("save") if isinstance(sync, dict) else type(sync) is int and sync > 0
    kind = sync.get("change") if isinstance(sync, dict) else sync
    provider = said.get("diagnosticProvider")
    encoding = said.get("positionEncoding")
    commands = _mapping(said.get("executeCommandProvider")).get("commands")
    version = _mapping(answer.get("serverInfo")).get("version")
    return Abilities(
        sync=kind if type(kind) is int and kind in (NO_SYNC, INCREMENTAL) else FULL,
        saves=bool(save),
        saves_text=_mapping(save).get("includeText") is True,
        pull=_mapping(provider) if isinstance(provider, dict) or provider is True else None,
        tsserver=isinstance(commands, list) and tsserver.COMMAND in commands,
        encoding=encoding if encoding in (*OFFERED, UTF32) else UTF16,
        version=_number(version) if isinstance(version, str) else "",
    )


def _number(version: str) -> str:
    """What of a version is its number: clangd says its name and its platform too, gopls all about its build in JSON."""
    if version.startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            version = str(_mapping(json.loads(version)).get("Version"))
    found = _NUMBER.search(version[:200])
    return found[0] if found else version[:_SHOWN]


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
