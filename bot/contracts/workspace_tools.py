"""The tools of the workspace as the model sees them, and the limits that they name.

To add a tool, describe it here, in the group that says what it does, and write `bot/toolhost/tools/NAME.py` with
`run(arguments, context)`. Verbs, path rules and the prompt take the groups from here. A name has a `_` only if the part
before it is the tool whose group it belongs to (`bash_output`). The descriptions are apart from the code of the tools,
which runs only inside the sandbox: the supervisor needs them before the first request.
"""

from __future__ import annotations

from bot.contracts.tools import ToolSpec

MAX_LINES = 2000
MAX_ENTRIES = 1000
MAX_FILES = 100
MAX_MATCHES = 100

MODES = ("lines", "files", "count")
"""Of `grep`."""

DEFAULT_TIMEOUT = 120
MAX_TIMEOUT = 600
"""Seconds, the maximum in the schema, by which the supervisor validates the model's calls."""

MAX_WAIT = 100
"""Seconds. Less than the supervisor waits for a call without a time limit."""

VIEW = ToolSpec(
    name="view",
    description="Show a text file as `12|text`; over 600 lines, its outline unless offset or limit is set.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer"},
            "limit": {"type": "integer"},
        },
        "required": ["path"],
    },
)

LS = ToolSpec(
    name="ls",
    description="List a folder as a tree.",
    parameters={"type": "object", "properties": {"path": {"type": "string"}}},
)

GLOB = ToolSpec(
    name="glob",
    description="Find files, newest first: `*.py` at any depth, `src/**/*.ts`.",
    parameters={
        "type": "object",
        "properties": {"pattern": {"type": "string"}, "path": {"type": "string"}},
        "required": ["pattern"],
    },
)

GREP = ToolSpec(
    name="grep",
    description="Search the lines of files that are not ignored by Perl-compatible regex.",
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
            "glob": {"type": "string"},
            "literal": {"type": "boolean"},
            "context": {"type": "integer"},
            "mode": {"type": "string", "enum": list(MODES)},
        },
        "required": ["pattern"],
    },
)

EDIT = ToolSpec(
    name="edit",
    description="Replace `old`, which occurs once in a viewed file, with `new`.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "replace_all": {"type": "boolean"},
        },
        "required": ["path", "old", "new"],
    },
    writes=True,
)

WRITE = ToolSpec(
    name="write",
    description="Write a whole file. View an existing one first.",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
    },
    writes=True,
)

PATCH = ToolSpec(
    name="patch",
    description=(
        "Change viewed files, all or nothing:\n*** Begin Patch\n*** Update File: path\n@@ part of a line above\n"
        " context\n-old\n+new\n*** Add File: path\n+text\n*** Delete File: path\n*** End Patch\n"
        "Context must be found once. `*** Move to: path` may follow Update File. Unified diffs work too."
    ),
    parameters={
        "type": "object",
        "properties": {"patch": {"type": "string"}},
        "required": ["patch"],
    },
    writes=True,
)

BASH = ToolSpec(
    name="bash",
    description=(
        "Run a command without network or input. The working folder carries over, variables do not. Servers need "
        "background."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string"},
            "timeout": {
                "type": "integer",
                "maximum": MAX_TIMEOUT,
                "description": f"seconds, {DEFAULT_TIMEOUT} if left out",
            },
            "background": {"type": "boolean"},
        },
        "required": ["command"],
    },
    writes=True,
)

BASH_OUTPUT = ToolSpec(
    name="bash_output",
    description="New output of a background command, or all from a line on.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "integer"},
            "offset": {"type": "integer"},
            "wait": {"type": "integer", "description": "seconds"},
        },
        "required": ["id"],
    },
    writes=True,
)

BASH_KILL = ToolSpec(
    name="bash_kill",
    description="End a background command, or all.",
    parameters={"type": "object", "properties": {"id": {"type": "integer"}}},
    writes=True,
)

TEMPORARY = "$TMPDIR"
OUTPUT = "out"
OUTPUT_NAME = f"{TEMPORARY}/{OUTPUT}"
"""The temporary folder as commands and tools can name it, and in it the output of commands."""

READING_SPECS = (VIEW, LS, GLOB, GREP)
"""They only read; their `path` is judged by the policy's rules for reading."""

WRITING_SPECS = (EDIT, WRITE, PATCH)
"""They change the file at `path`, or those that a patch names."""

SHELL_SPECS = (BASH, BASH_OUTPUT, BASH_KILL)
"""They run commands and control those in the background: offered together."""

TOOL_SPECS = (*READING_SPECS, *WRITING_SPECS, *SHELL_SPECS)
"""In the order in which the model sees them. The schemas contain only what a model cannot guess: the tools refuse
numbers that are too small, and report in their results what is left out."""

READING = tuple(spec.name for spec in READING_SPECS)
WRITING = tuple(spec.name for spec in WRITING_SPECS)
SHELL_TOOLS = tuple(spec.name for spec in SHELL_SPECS)
SHELL = BASH.name
