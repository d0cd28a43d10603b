"""Single keys of the policy file: what each value becomes, and what is refused, with its place."""

import re
from operator import attrgetter

import pytest

from bot.contracts.request import Tier
from bot.policy.agent_settings import AgentPolicy, DiagnosticsPolicy, SandboxLimits, ServerPolicy
from bot.policy.check_settings import CheckSpec
from bot.policy.load import load_policy
from bot.policy.model_settings import ModelSettings
from bot.policy.policy_error import PolicyError
from bot.policy.settings import OptionsPolicy
from bot.session.workspaces.start_workspaces import in_bytes
from bot.toolhost.resource_limits import ResourceLimits

INSTRUCTIONS = ("AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")
MODEL = """
models:
  ollama/qwen3-coder:
    window: 256000
    max_output: 32000
    price: { input: 1.5, output: 6, cache_read: 0.1, cache_write: 2 }
    vision: true
    thinking: "budget"
    streams_tools: true
    allowed_tools: false
    forced_choice: false
"""
DIAGNOSTICS = """
diagnostics:
  off: true
  wait: 1
  servers: {ty: {command: .venv/bin/ty server}, biome: {off: true}}
  checkers: [ruff, mypy]
"""

READ = [
    ("", "attachments.tiers", {Tier.MAINTAINER}),
    ("attachments: {}", "attachments.tiers", {Tier.MAINTAINER}),
    ("attachments: {tiers: [contributor, bot]}", "attachments.tiers", {Tier.CONTRIBUTOR, Tier.BOT}),
    ("attachments: {tiers: []}", "attachments.tiers", frozenset()),
    ("", "agent", AgentPolicy(INSTRUCTIONS)),
    ("agent: {instructions: [RULES.md]}", "agent", AgentPolicy(("RULES.md",))),
    ("agent: {instructions: []}", "agent.instructions", ()),
    ("diagnostics: {}", "diagnostics", DiagnosticsPolicy(False, 2.0, {}, None)),
    (DIAGNOSTICS, "diagnostics",
     DiagnosticsPolicy(True, 1.0, {"ty": ServerPolicy(".venv/bin/ty server"),
      "biome": ServerPolicy(off=True)}, ("ruff", "mypy"))),
    ("diagnostics: {checkers: none}", "diagnostics.checkers", ()),
    ("diagnostics: {checkers: []}", "diagnostics.checkers", ()),
    ("sandbox: {limits: {file: 16}}", "sandbox.limits", SandboxLimits(file=16)),
    (MODEL, "models",
     {"ollama/qwen3-coder": {"context_window": 256_000, "max_output": 32_000, "input_price": 1.5,
      "output_price": 6.0, "cache_read_price": 0.1, "cache_write_price": 2.0, "vision": True,
      "thinking": "budget", "streams_tools": True, "allowed_tools": False, "forced_choice": False}}),
    ("models: { openai/x: { window: 9 } }", "models", {"openai/x": {"context_window": 9}}),
    ("models: { openai/x: { price: { input: 3, output: 9 } } }", "models",
     {"openai/x": {"input_price": 3.0, "output_price": 9.0, "cache_read_price": 3.0, "cache_write_price": 3.0}}),
    ("models: {vllm/x: {efforts: [low, high]}}", "models", {"vllm/x": {"efforts": ("low", "high")}}),
    ('options: {models: [anthropic/claude-haiku-4-5, "openai/*", "*/gpt-oss"]}', "options",
     OptionsPolicy(("anthropic/claude-haiku-4-5", "openai/*", "*/gpt-oss"))),
    ("options: {models: []}", "options", OptionsPolicy(())),
    ("agent: {instructions: [B.md, A.md, B.md]}", "agent.instructions", ("B.md", "A.md")),
    ("options: {}", "options", OptionsPolicy(None)),
    ("checks: [{name: t, command: make t, junit: 'out/**/*.xml'}]", "checks",
     (CheckSpec("make t", "t", 600, ("out/**/*.xml",)),)),
    ("review: {on: []}", "review.on", frozenset()),
    ("pull_request: {draft: true}", "pull_request.always_draft", False),
    ("pull_request: {draft: always}", "pull_request.always_draft", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "key", "value"), READ)
def test_a_key_is_read(text: str, key: str, value: object):
    assert attrgetter(key)(load_policy(text)) == value


WRONG = [
    ("attachments: {tier: [bot]}", "`tier`"),
    ("attachments: {tiers: [schedule]}", "`schedule` is not one of"),
    ("agent: {stop_hook: {}}", "`stop_hook`"),
    ("agent: {instructions: [../AGENTS.md]}", "this should be the name of a file"),
    ("agent: {instructions: ['..']}", "this should be the name of a file"),
    ("diagnostics: {servers: {tyy: {off: true}}}", "`tyy` is not one of"),
    ("diagnostics: {servers: {ty: {args: x}}}", "unknown key `args`"),
    ("diagnostics: {wait: 31s}", "at most 30 seconds"),
    ("diagnostics: {checkers: ['../x']}", "is not one of"),
    ("sandbox: {limits: {open_files: 5}}", "unknown key `open_files`"),
    ("models: { qwen: {} }", "this should be provider/name"),
    ("models: { openai/x: { windows: 9 } }", "windows"),
    ("models: { openai/x: { window: } }", "a valid integer, found nothing"),
    ("models: { openai/x: { price: { input: 3 } } }", "has no `output`"),
    ("models: { openai/x: { thinking: hard } }", "'off', 'adaptive', 'budget' or 'effort'"),
    ("models:\n  openai/x: {}\n  openai/x: {}", "twice"),
    ("model_settings: {effort: highest}", "`highest` is not one of"),
    ("model_settings: {fallback: [gpt-6.2-sol]}", "this should be provider/name"),
    ("model_settings: {fallback: [a/b, a/c, a/d, a/e, a/f, a/g]}", "at most 5"),
    ("model_settings: {verbs: {fixx: {effort: low}}}", "`fixx` is not one of"),
    ("model_settings: {tasks: {../x: {effort: low}}}", "this should be the name of a task"),
    (f"options: {{models: {[f'openai/m{n}' for n in range(51)]}}}", "at most 50 are listed, and not 51"),
    *(
        (f"checks: [{{command: make t, junit: {place}}}]", "agent.yml:1:")
        for place in ("/etc/passwd", "../out.xml", "a/../b", "a\\b", "''")
    ),
]


@pytest.mark.parametrize(("text", "why"), WRONG)
def test_a_wrong_value_is_refused_with_its_place(text: str, why: str):
    with pytest.raises(PolicyError, match=re.escape(why)) as caught:
        load_policy(text)
    assert re.match(r"\.github/agent\.yml:\d+:\d+: ", str(caught.value))


def test_limits_of_the_sandbox_are_by_default_those_of_the_tool_host():
    host = ResourceLimits()._asdict()
    assert in_bytes(load_policy("version: 1").sandbox.limits) == {
        name: host[name] for name in ("memory", "processes", "file", "disk")
    }


SETTINGS = """
model: anthropic/claude-opus-5-5
model_settings:
  effort: low
  fallback: [openai/gpt-6.2-sol, anthropic/claude-sonnet-5-5]
  small: anthropic/claude-haiku-5-5
  tiers:
    contributor: {effort: minimal, fallback: []}
    maintainer: {effort: high}
  verbs:
    review: {effort: max}
  tasks:
    update-dependencies: {small: openai/gpt-6-luna}
"""
ALL = ("openai/gpt-6.2-sol", "anthropic/claude-sonnet-5-5")
HAIKU = "anthropic/claude-haiku-5-5"


@pytest.mark.parametrize(
    ("verb", "tier", "task", "settings"),
    [
        ("fix", Tier.BOT, "", ModelSettings("low", ALL, HAIKU)),
        ("fix", Tier.CONTRIBUTOR, "", ModelSettings("minimal", (), HAIKU)),
        ("review", Tier.CONTRIBUTOR, "", ModelSettings("max", (), HAIKU)),
        ("fix", Tier.LOCAL, "", ModelSettings("high", ALL, HAIKU)),
        ("fix", Tier.SCHEDULE, "update-dependencies", ModelSettings("low", ALL, "openai/gpt-6-luna")),
        ("review", Tier.SCHEDULE, "another", ModelSettings("max", ALL, HAIKU)),
    ],
)
def test_a_tasks_settings_come_before_a_verbs_and_those_before_a_tiers(
    verb: str, tier: Tier, task: str, settings: ModelSettings
):
    policy = load_policy(SETTINGS)
    assert policy.model_settings.of(verb, tier, task) == settings
    assert policy.model_names == ("anthropic/claude-opus-5-5", *ALL, HAIKU, "openai/gpt-6-luna")
    assert load_policy("version: 1").model_settings.of(verb, tier, task) == ModelSettings()
