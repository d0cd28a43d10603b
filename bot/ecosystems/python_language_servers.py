"""The language servers for Python: ty and ruff."""

from __future__ import annotations

from bot.ecosystems.language_server import Launch, Server
from bot.ecosystems.program_lookup import Place

_FILES = {".py": "python", ".pyi": "python"}
# Syntax errors, misplaced statements, undefined names: reported in any project.
_RUFF_FATAL = ("E9", "F63", "F7", "F82")


def _ty(place: Place) -> Launch | str:
    """Only if the project uses it: other projects break its strict rules by the hundred."""
    if not (place.configured or place.uses("ty")):
        return ""
    program = place.bundled("ty") or place.in_project("ty") or place.on_path("ty")
    if not program:
        return "it is not installed"
    # ty looks for an environment only beside the settings; several projects may share one above them.
    in_the_project = next((str(folder) for folder in place.environments()), "")
    environment = place.environment.get("VIRTUAL_ENV", "") or in_the_project
    marker = place.above("ty.toml", "pyproject.toml")
    variables = {"VIRTUAL_ENV": environment} if environment else {}
    return Launch((program, "server"), root=marker and marker.parent, variables=variables)


def _ruff(place: Place) -> Launch | str:
    program = place.bundled("ruff") or place.in_project("ruff") or place.on_path("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration ruff would enable hundreds of rules that the project does not use.
    select = ["E9", "F"] if place.uses("ruff") else list(_RUFF_FATAL)
    options = None if place.has_settings("ruff") else {"settings": {"lint": {"select": select}}}
    return Launch((program, "server"), options)


SERVERS = (
    Server("ty", _FILES, _ty, commands=("ty server",), missing=frozenset({"import-not-found"})),
    Server("ruff", _FILES, _ruff, {"RUFF_CACHE_DIR": "{tmp}/ruff"}, ("ruff server",)),
)
