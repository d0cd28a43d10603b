"""What the model is told of each tool, and the limits that are named to it.

Apart from the tools' code: the supervisor needs this before the first request, the code only runs inside, and
loading it would take longer than all that is here.
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
"""Seconds. What a model may ask for: the supervisor holds its calls to the schema."""

MAX_WAIT = 100
"""Seconds. Under what the supervisor waits for a call that names no time limit."""

VIEW = ToolSpec(
    name="view",
    description=(
        f"Show a text file as lines `12|text`, at most {MAX_LINES} or 50 KiB a call. Needed before edit or write may "
        "change a file."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line"},
            "limit": {"type": "integer", "minimum": 1, "description": "lines"},
        },
        "required": ["path"],
    },
)

LS = ToolSpec(
    name="ls",
    description=(
        "List a folder as a tree with the number of files in each folder; without ignored files, at most "
        f"{MAX_ENTRIES} entries."
    ),
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
    },
)

GLOB = ToolSpec(
    name="glob",
    description=(
        "Find files, newest first: `*.py` at any depth, `src/**/*.{ts,tsx}` from path on; without ignored files, at "
        f"most {MAX_FILES}."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string"},
        },
        "required": ["pattern"],
    },
)

GREP = ToolSpec(
    name="grep",
    description=(
        "Search files line by line with a Perl-compatible regular expression; without binary and ignored files, at "
        f"most {MAX_MATCHES} matches."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "file or folder"},
            "glob": {"type": "string", "description": "such as *.py"},
            "literal": {"type": "boolean"},
            "context": {"type": "integer", "minimum": 0, "description": "lines around"},
            "mode": {"type": "string", "enum": list(MODES)},
        },
        "required": ["pattern"],
    },
)

EDIT = ToolSpec(
    name="edit",
    description=(
        "Replace `old`, which must occur exactly once in the file, with `new`. Copy `old` without line "
        "numbers. Empty `old` creates the file."
    ),
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
    description=("Write a whole file, and its folders. An existing one must have been viewed in full."),
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
        "Change several files at once, wholly or not at all:\n*** Begin Patch\n*** Update File: path\n"
        "@@ a line above the place\n context\n-old\n+new\n*** Add File: path\n+text\n*** Delete File: path\n"
        "*** End Patch\nEach line of an update begins with a space (kept), - or +. Give enough context to be found "
        "once; @@ lines narrow it. `*** Move to: path` may follow Update File. View the files first."
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
        "Run a command with bash: stdout and stderr in order, no network, no input. The working folder carries over to "
        "the next call, variables do not. Processes still running at its end are stopped: start a server with "
        "background. Prefer view, grep, glob and edit to commands."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TIMEOUT,
                "description": f"seconds, {DEFAULT_TIMEOUT} if left out",
            },
            "background": {
                "type": "boolean",
                "description": "let it run, for bash_output and bash_kill",
            },
        },
        "required": ["command"],
    },
    writes=True,
)

BASH_OUTPUT = ToolSpec(
    name="bash_output",
    description="What a background command printed since the last call, and whether it still runs.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "offset": {"type": "integer", "minimum": 1, "description": "from this line on"},
            "wait": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_WAIT,
                "description": "seconds to wait",
            },
        },
        "required": ["id"],
    },
    writes=True,
)

BASH_KILL = ToolSpec(
    name="bash_kill",
    description="End a background command; every one if id is left out.",
    parameters={
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 1}},
    },
    writes=True,
)

SPECS: tuple[ToolSpec, ...] = (VIEW, LS, GLOB, GREP, EDIT, WRITE, PATCH, BASH, BASH_OUTPUT, BASH_KILL)
"""In the fixed order in which the model sees them."""
