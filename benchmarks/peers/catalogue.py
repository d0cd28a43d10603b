"""The peers: which version, how each is pointed at the scripted model, and what it is asked.

Each has a HOME of its own with nothing in it but the settings written here; updates, telemetry and questions are
off, so that a run is the same each time and needs no network.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.session import TASK
from benchmarks.session import ours as our_program

KEY = "scripted-key"
MODEL = "scripted"


@dataclass(frozen=True)
class Started:
    """A command line with what it needs beside PATH, HOME and LANG."""

    argv: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Place:
    """Where one peer is run: its installation, its HOME, the repository it works on, the model's address."""

    installed: Path
    home: Path
    repository: Path
    url: str
    task: str = TASK

    def write(self, name: str, content: str | Mapping[str, object]) -> None:
        """A settings file beneath HOME."""
        file = self.home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))


@dataclass(frozen=True)
class Peer:
    """`packages` are pinned; `registry` is npm, pypi, or empty for ours. `last` is a command that ends the session,
    `turns` whether it calls tools at all."""

    name: str
    language: str
    version: str
    registry: str
    packages: Sequence[str]
    start: Callable[[Place], Started]
    last: str = ""
    turns: bool = True


def _ours(vendor: str) -> Callable[[Place], Started]:
    def start(place: Place) -> Started:
        variables = {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": place.url,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{place.url}/v1",
        }
        return Started(our_program(vendor, place.repository).argv, variables)

    return start


def _codex(place: Place) -> Started:
    place.write(
        ".codex/config.toml",
        f'model = "{MODEL}"\nmodel_provider = "bench"\ncheck_for_update_on_startup = false\n'
        "[analytics]\nenabled = false\n"
        f'[model_providers.bench]\nname = "bench"\nbase_url = "{place.url}/v1"\n'
        'wire_api = "responses"\nenv_key = "BENCH_KEY"\n',
    )
    program = _one(place.installed, f"node_modules/@openai/codex-linux-{_machine('x64')}/vendor/*/bin/codex")
    options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
    return Started([program, "exec", *options, TASK], {"BENCH_KEY": KEY})


def _opencode(place: Place) -> Started:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "bench",
        "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
        "models": {MODEL: {"name": MODEL, "tool_call": True, "limit": {"context": 200000, "output": 8000}}},
    }
    place.write(
        ".config/opencode/opencode.json",
        {"provider": {"bench": provider}, "autoupdate": False, "share": "disabled", "permission": "allow"},
    )
    off = ("MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "AUTOUPDATE")
    program = _one(place.installed, f"node_modules/opencode-linux-{_machine('x64')}/bin/opencode")
    return Started(
        [program, "run", "--model", f"bench/{MODEL}", TASK], {f"OPENCODE_DISABLE_{name}": "1" for name in off}
    )


def _pi(place: Place) -> Started:
    model = {"id": MODEL, "contextWindow": 200000, "maxTokens": 8000}
    provider = {"baseUrl": f"{place.url}/v1", "api": "openai-completions", "apiKey": KEY, "models": [model]}
    place.write(".pi/agent/models.json", {"providers": {"bench": provider}})
    program = str(place.installed / "node_modules" / ".bin" / "pi")
    return Started([program, "-p", "--provider", "bench", "--model", MODEL, TASK], {"PI_OFFLINE": "1"})


def _gemini(place: Place) -> Started:
    place.write(
        ".gemini/settings.json",
        {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            # It asks a second model after 30 turns whether the first one is stuck.
            "model": {"disableLoopDetection": True},
        },
    )
    program = str(place.installed / "node_modules" / ".bin" / "gemini")
    variables = {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": place.url}
    return Started([program, "--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", TASK], variables)


def _mini(place: Place) -> Started:
    variables = {
        "MSWEA_CONFIGURED": "true",
        "MSWEA_COST_TRACKING": "ignore_errors",
        "OPENAI_API_BASE": f"{place.url}/v1",
        "OPENAI_API_KEY": KEY,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    program = str(place.installed / "bin" / "mini")
    return Started([program, "-y", "--exit-immediately", "-m", "openai/gpt-5", "-t", place.task], variables)


def _aider(place: Place) -> Started:
    variables = {"OPENAI_API_BASE": f"{place.url}/v1", "OPENAI_API_KEY": KEY}
    quiet = [
        "--no-check-update",
        "--analytics-disable",
        "--no-show-model-warnings",
        "--no-show-release-notes",
    ]
    careful = ["--yes-always", "--no-auto-commits", "--no-gitignore", "--no-pretty"]
    program = str(place.installed / "bin" / "aider")
    return Started([program, *quiet, *careful, "--model", "openai/gpt-4.1", "--message", TASK], variables)


PEERS = (
    Peer("slash-agent, anthropic", "Python", "this", "", (), _ours("anthropic")),
    Peer("slash-agent, openai", "Python", "this", "", (), _ours("openai")),
    Peer("codex", "Rust", "0.169.0", "npm", ("@openai/codex@0.169.0",), _codex),
    Peer("opencode", "Bun", "1.18.33", "npm", ("opencode-ai@1.18.33",), _opencode),
    Peer("pi", "Node", "0.73.1", "npm", ("@mariozechner/pi-coding-agent@0.73.1",), _pi),
    Peer("gemini-cli", "Node", "0.61.0", "npm", ("@google/gemini-cli@0.61.0",), _gemini),
    Peer(
        "mini-swe-agent", "Python", "2.4.6", "pypi", ("mini-swe-agent==2.4.6", "mcp==2.3.0"), _mini,
        last="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    ),
    Peer("aider", "Python", "0.86.2", "pypi", ("aider-chat==0.86.2",), _aider, turns=False),
)  # fmt: skip


def _machine(intel: str) -> str:
    return intel if platform.machine() in ("x86_64", "AMD64") else "arm64"


def _one(folder: Path, pattern: str) -> str:
    """The one file that matches. Raises `FileNotFoundError`."""
    found = sorted(folder.glob(pattern))
    if not found:
        raise FileNotFoundError(f"it has no program {pattern} for this machine")
    return str(found[0])
