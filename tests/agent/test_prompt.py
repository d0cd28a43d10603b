"""The system texts: as agreed byte for byte, small, and naming only tools that the session has."""

import json
import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from bot.agent.prompt import PromptError, new_marker, prompt_text, render, system_prompt
from bot.agent.submission_tools import ASK_USER, DESCRIBE_CHANGE, SUBMIT_PLAN
from bot.agent.todo_list import TODO
from bot.contracts.tool_descriptions import TOOL_SPECS
from bot.contracts.tools import ToolSpec
from bot.session.context.profiles import profile_of_verb
from bot.session.tools.subagents import TASK_SPEC
from bot.skills.folders import bundled, choose_skills
from bot.skills.tool import skill_spec
from bot.verbs.registry import MODEL_VERBS, VERBS

GOLDEN = Path(__file__).parent / "golden"
PROMPTS = Path(__file__).parents[2] / "bot" / "agent" / "prompts"
READING = tuple(spec for spec in TOOL_SPECS if not spec.writes)
BASH = next(spec for spec in TOOL_SPECS if spec.name == "bash")
FINDING = ToolSpec("report_finding", "", {})

SESSIONS: dict[str, tuple[str, tuple[ToolSpec, ...]]] = {
    "fix": ("fix", (*TOOL_SPECS, TODO, DESCRIBE_CHANGE)),
    "fix_fork": ("fix", (*(t for t in TOOL_SPECS if t != BASH), TODO, DESCRIBE_CHANGE, ASK_USER)),
    "continue": ("continue", (*TOOL_SPECS, TODO, DESCRIBE_CHANGE, ASK_USER)),
    "approve": ("approve", (*TOOL_SPECS, TODO, DESCRIBE_CHANGE)),
    "plan": ("plan", (*READING, TODO, SUBMIT_PLAN, ASK_USER)),
    "plan_fork": ("plan", (*READING, TODO, SUBMIT_PLAN)),
    "explain": ("explain", (*READING, BASH)),
    "explain_fork": ("explain", READING),
    "review": ("review", (*READING, BASH, TODO, FINDING)),
    "agent_explore": ("agent_explore", READING),
    "review_fork": ("review", (*READING, TODO, FINDING)),
}


def system_text(name: str, tools: Iterable[ToolSpec]) -> str:
    return system_prompt(profile_of_verb(name).prompt if name in MODEL_VERBS else prompt_text(name), tools)


@pytest.mark.parametrize("session", SESSIONS)
def test_the_system_prompt_is_the_agreed_one(session: str):
    assert system_text(*SESSIONS[session]) == (GOLDEN / f"{session}_system.md").read_text("utf-8")


def test_a_prompt_that_names_a_tool_the_session_lacks_is_refused():
    with pytest.raises(PromptError, match="describe_change"):
        system_text("fix", (*TOOL_SPECS, TODO))


@pytest.mark.parametrize("path", sorted(PROMPTS.glob("parts/*.md")), ids=lambda path: path.stem)
def test_every_part_is_used(path: Path):
    name = path.stem.removesuffix("_without")
    texts = [file.read_text("utf-8") for file in PROMPTS.rglob("*.md")]
    texts += [verb.profile.prompt for verb in VERBS.values() if verb.profile]
    assert any(f"${name}" in re.findall(r"\$\w+", text) for text in texts)


def test_a_missing_value_is_refused():
    with pytest.raises(PromptError, match="facts"):
        render("task", instruction="x", sections="")


def test_two_sessions_have_two_markers():
    assert len(new_marker()) >= 16
    assert new_marker() != new_marker()


def test_the_tools_of_a_fix_take_at_most_five_kilobytes():
    """They are in every request, as is the system text: together with a first message, nine at most."""
    own = (TODO, TASK_SPEC, skill_spec(choose_skills([bundled()]).skills), DESCRIBE_CHANGE)
    tools = [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
        }
        for tool in (*TOOL_SPECS, *own)
    ]
    assert len(json.dumps(tools, separators=(",", ":"), ensure_ascii=False)) <= 4_700
    assert len(system_text(*SESSIONS["fix"])) <= 1_500
