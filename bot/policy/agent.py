"""The policy file's keys about the model and its surroundings: `agent`, `model`, `options`, `identity`, `detector`."""

from __future__ import annotations

import re

from bot.policy.kinds import Kind, line, list_of, truth
from bot.policy.schema import AgentPolicy, DetectorPolicy, Identity, OptionsPolicy, StopHookPolicy
from bot.policy.table import Key, Table

_MOST_INSTRUCTIONS = 10
_MOST_MODELS = 50
_FILE_NAME = re.compile(r"(?!\.\.?$)[\w.-]{1,100}")
# Everything beyond ASCII is left to the loader: \w is another thing in every language.
_FILE_NAME_SCHEMA = r"(?!\.\.?$)[^\u0000-,/:-@\[-^`{-\u007f]{1,100}"
_MODEL = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9][A-Za-z0-9._:/@+-]*")
# As a model's name, with stars; nothing else of it is special to the matcher.
_MODELS = re.compile(r"[A-Za-z0-9._*-]+/[A-Za-z0-9*][A-Za-z0-9._:/@+*-]{0,199}")
_EMAIL = re.compile(r"[^\s<>@\"]+@[^\s<>@\"]+")
_NAME = re.compile(r"[^<>]*")
_RULES_FILE = re.compile(r"(?!\.?/|.*//)(?!(?:.*/)?\.\.?(?:/|$))(?!\.git/)[^\\]*[^\\/]\.toml")

MODEL = line(_MODEL, "expected provider/name, as in anthropic/claude-sonnet-4-5", words="provider/name")

STOP_HOOK = Table(
    (
        Key("todos", truth(), "Tell the model of open items of its list when it says that it is done."),
        Key("diagnostics", truth(), "Tell it of files that no longer parse and of new errors."),
        Key("checks", truth(), "Tell it of checks that fail with its change."),
    )
)
AGENT = Table(
    (
        Key("stop_hook", STOP_HOOK.over(StopHookPolicy()), "What the model is told when it is done, at most twice."),
        Key(
            "instructions",
            list_of(
                line(
                    _FILE_NAME,
                    "expected the name of a file, without a folder, as in AGENTS.md",
                    schema=_FILE_NAME_SCHEMA,
                    words="file names",
                ),
                most=_MOST_INSTRUCTIONS,
                over=f"at most {_MOST_INSTRUCTIONS} names are looked for",
                once=True,
            ),
            "Files of instructions, read from the base: the first that is there in a folder, the nearest first.",
        ),
    )
)  # fmt: skip
OPTIONS = Table(
    (
        Key(
            "models",
            list_of(
                line(
                    _MODELS,
                    "expected provider/name, as in anthropic/claude-sonnet-4-5 or openai/*",
                    words="provider/name, with `*`",
                ),
                most=_MOST_MODELS,
                over=f"at most {_MOST_MODELS} models are listed; `*` stands for any part of a name",
                once=True,
            ),
            "What --model may ask for; by default any that the job's keys reach.",
        ),
    )
)
IDENTITY = Table(
    (
        Key(
            "name",
            line(
                _NAME, "git allows no < or > in a name", schema=r"[^<>\u0000-\u001f\u007f-\u009f]+"
            ),
            "The author's name.",
        ),
        Key(
            "email",
            line(
                _EMAIL,
                "expected an address as in bot@example.org",
                schema=r'[^\u0000-\u0020<>@"]+@[^\u0000-\u0020<>@"]+',
            ),
            "The author's address.",
        ),
    )
)  # fmt: skip
DETECTOR = Table(
    (
        Key(
            "rules",
            line(
                _RULES_FILE,
                "expected a .toml file of the repository, relative to its root",
                words="path of a .toml file",
            ),
            "Rules in gitleaks' TOML, beside the built-in patterns; a file of this repository.",
        ),
    )
)

AGENT_KIND: Kind[AgentPolicy] = AGENT.over(AgentPolicy())
OPTIONS_KIND: Kind[OptionsPolicy] = OPTIONS.over(OptionsPolicy())
IDENTITY_KIND: Kind[Identity] = IDENTITY.over(Identity())
DETECTOR_KIND: Kind[DetectorPolicy] = DETECTOR.over(DetectorPolicy())
