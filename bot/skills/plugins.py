"""Skills of the user's plug-ins for Claude Code, of those that are installed for the user and enabled:
`skills/NAME/SKILL.md` beside `.claude-plugin/plugin.json`. Nothing else of a plug-in is used: no command, agent, hook
or server, and no other folder of skills that its manifest names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bot.skills.discover import discover
from bot.skills.skill import CheckedSkill, Discovered
from bot.skills.sources import SkillSource, folder_source

_MANIFEST = ".claude-plugin/plugin.json"
_MAX_MANIFEST = 1024 * 1024
_MAX_PLUGINS = 50
_PLUGIN_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


def user_plugins(home: Path) -> list[Discovered]:
    """Return the skills of the user's plug-ins. Files in an unknown format are ignored."""
    return [
        _plugin_skills(
            folder_source(folder / "skills", short_name(folder / "skills", home)), _read(folder / _MANIFEST)
        )
        for folder in list(_installed(home / ".claude"))[:_MAX_PLUGINS]
    ]


def short_name(folder: Path, home: Path) -> str:
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def _plugin_skills(source: SkillSource, manifest: dict[str, Any]) -> Discovered:
    """Return the skills in `source`, each named PLUGIN:SKILL as in Claude Code, so that none shadows another."""
    plugin = manifest.get("name")
    if not isinstance(plugin, str) or not _PLUGIN_NAME.fullmatch(plugin):
        note = (
            f"{source.name}: no skill is read there, since the plug-in's {_MANIFEST} gives it no valid name"
        )
        return Discovered(source, (), (note,))
    result = discover(source, "plugin")
    return result._replace(checked=[_with_prefix(one, plugin) for one in result.checked])


def _with_prefix(checked: CheckedSkill, plugin: str) -> CheckedSkill:
    skill = checked.skill
    return checked._replace(skill=skill and skill._replace(name=f"{plugin}:{skill.name}"))


def _installed(claude: Path) -> Iterator[Path]:
    """Return the folders of the plug-ins that are installed for the user, not for one project, and enabled; by
    their id."""
    plugins = _read(claude / "plugins" / "installed_plugins.json").get("plugins")
    enabled = _read(claude / "settings.json").get("enabledPlugins")
    if not isinstance(plugins, dict) or not isinstance(enabled, dict):
        return
    for id, entries in sorted(plugins.items()):
        for entry in entries if isinstance(entries, list) else ():
            path = entry.get("installPath") if isinstance(entry, dict) else None
            if enabled.get(id) is True and isinstance(path, str) and entry.get("scope") == "user":
                yield Path(path)


def _read(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return _object(file.read(_MAX_MANIFEST))
    except OSError:
        return {}  # not there: no plug-in


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
