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
        "Show a text file as numbered lines (`12|text`). Needed before edit or write may change a file. "
        f"At most {MAX_LINES} lines or 50 KiB a call; the end of the result says how to go on."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "relative to the repository root"},
            "offset": {"type": "integer", "minimum": 1, "description": "first line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "description": "number of lines"},
        },
        "required": ["path"],
        "additionalProperties": False,
    },
)

LS = ToolSpec(
    name="ls",
    description=(
        "List a folder as a tree, with the number of files in each folder. Ignored files are left out, unless "
        f"path itself is ignored. At most {MAX_ENTRIES} entries, upper levels first."
    ),
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string", "description": "folder; default the root"}},
        "additionalProperties": False,
    },
)

GLOB = ToolSpec(
    name="glob",
    description=(
        "Find files by pattern, newest first: `*.py` at any depth, `src/**/*.{ts,tsx}` from the folder on. "
        f"Ignored files are left out. At most {MAX_FILES}."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "folder to look in; default the root"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)

GREP = ToolSpec(
    name="grep",
    description=(
        "Search file contents line by line with a regular expression (Perl-compatible; (?i) ignores case). "
        "Binary and ignored files are left out, unless path itself is ignored. "
        f"At most {MAX_MATCHES} matches."
    ),
    parameters={
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "file or folder; default the root"},
            "glob": {"type": "string", "description": "only files that match, such as *.py"},
            "literal": {"type": "boolean", "description": "pattern is plain text"},
            "context": {"type": "integer", "minimum": 0, "description": "lines around each match"},
            "mode": {"type": "string", "enum": list(MODES), "description": "default lines"},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    },
)

EDIT = ToolSpec(
    name="edit",
    description=(
        "Replace `old`, which must occur exactly once in the file, with `new`. View the file first and copy "
        "`old` without the line numbers. Line ends, encoding and mode are kept. Empty `old` creates the file."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "old": {"type": "string"},
            "new": {"type": "string"},
            "replace_all": {"type": "boolean", "description": "replace every occurrence"},
        },
        "required": ["path", "old", "new"],
        "additionalProperties": False,
    },
    writes=True,
)

WRITE = ToolSpec(
    name="write",
    description=(
        "Write a whole file, and its folders. An existing file must have been viewed in full; use edit for a "
        "part. Line ends, encoding and mode of an existing file are kept."
    ),
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
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
        "additionalProperties": False,
    },
    writes=True,
)

BASH = ToolSpec(
    name="bash",
    description=(
        "Run a command with bash in the sandbox and get its output, stdout and stderr in order. There is no "
        "network and no input. The working folder carries over to the next call; variables do not. Processes "
        "still running when the command ends are stopped: start a server with background. Long output is shown "
        "by its head and tail and kept in full in a file. Prefer view, grep, glob and edit for looking at and "
        "changing files."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {"type": "string", "minLength": 1, "description": "The bash command or script."},
            "timeout": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TIMEOUT,
                "description": f"Time limit in seconds, {DEFAULT_TIMEOUT} when left out, none in background.",
            },
            "background": {
                "type": "boolean",
                "description": "Return at once and let it run, with an id for bash_output and bash_kill.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    },
    writes=True,
)

BASH_OUTPUT = ToolSpec(
    name="bash_output",
    description="What a background command printed since the last look, and whether it still runs.",
    parameters={
        "type": "object",
        "properties": {
            "id": {"type": "integer", "minimum": 1},
            "offset": {"type": "integer", "minimum": 1, "description": "from this line on instead"},
            "wait": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_WAIT,
                "description": "seconds to wait for its end, default 0",
            },
        },
        "required": ["id"],
        "additionalProperties": False,
    },
    writes=True,
)

BASH_KILL = ToolSpec(
    name="bash_kill",
    description="End a background command and all it started; every one when id is left out.",
    parameters={
        "type": "object",
        "properties": {"id": {"type": "integer", "minimum": 1}},
        "additionalProperties": False,
    },
    writes=True,
)

SPECS: tuple[ToolSpec, ...] = (VIEW, LS, GLOB, GREP, EDIT, WRITE, PATCH, BASH, BASH_OUTPUT, BASH_KILL)
"""In the fixed order in which the model sees them."""
