"""The tools of the workspace as the model sees them, and the limits that they name.

To add a tool, describe it here, in the group that says what it does, and write `bot/toolhost/tools/NAME.py` with
`run(context, **arguments)`. Verbs, path rules and the prompt take the groups from here. A name has a `_` only if the
part before it is the tool whose group it belongs to (`bash_output`). The descriptions are apart from the code of the
tools, which runs only inside the sandbox: the supervisor needs them before the first request.
"""

from bot.contracts.tool_limits import DEFAULT_TIMEOUT, MAX_TIMEOUT
from bot.contracts.tool_schema import Schema, text, whole
from bot.contracts.tools import ToolSpec

PATCH, SHELL = "patch", "bash"
"""Names of tools."""


MODES = ("lines", "files", "count")
"""Of `grep`."""


_STRING, _INTEGER = text(), whole()
_BOOLEAN: Schema = {"type": "boolean"}


def _tool(
    name: str, description: str, required: str = "", /, *, writes: bool = False, **properties: Schema
) -> ToolSpec:
    """Return a tool with these properties, of which those named in `required` are."""
    schema = {"type": "object", "properties": properties}
    return ToolSpec(
        name, description, {**schema, "required": required.split()} if required else schema, writes
    )


TEMPORARY = "$TMPDIR"
OUTPUT = "out"
OUTPUT_NAME = f"{TEMPORARY}/{OUTPUT}"
"""The temporary folder as commands and tools can name it, and in it the output of commands."""

READING_SPECS = (
    _tool(
        "view",
        "Show a text file as `12|text`; over 600 lines, its outline unless offset or limit is set.",
        "path",
        path=_STRING,
        offset=_INTEGER,
        limit=_INTEGER,
    ),
    _tool("ls", "List a folder as a tree.", path=_STRING),
    _tool(
        "glob",
        "Find files, newest first: `*.py` at any depth, `src/**/*.ts`.",
        "pattern",
        pattern=_STRING,
        path=_STRING,
    ),
    _tool(
        "grep",
        "Search files line by line with a Perl-compatible regex; ignored files are skipped.",
        "pattern",
        pattern=_STRING,
        path=_STRING,
        glob=_STRING,
        literal=_BOOLEAN,
        context=_INTEGER,
        mode=text(enum=list(MODES)),
    ),
)
"""They only read; their `path` is judged by the policy's rules for reading."""

WRITING_SPECS = (
    _tool(
        "edit",
        "Replace `old`, which occurs once in a viewed file, with `new`.",
        "path old new",
        path=_STRING,
        old=_STRING,
        new=_STRING,
        replace_all=_BOOLEAN,
        writes=True,
    ),
    _tool(
        "write",
        "Write a whole file. View an existing one first.",
        "path content",
        path=_STRING,
        content=_STRING,
        writes=True,
    ),
    _tool(
        PATCH,
        "Change viewed files, all or nothing:\n*** Begin Patch\n*** Update File: path\n@@ part of a line above\n"
        " context\n-old\n+new\n*** Add File: path\n+text\n*** Delete File: path\n*** End Patch\n"
        "Context must be found once. `*** Move to: path` may follow Update File. Unified diffs work too.",
        "patch",
        patch=_STRING,
        writes=True,
    ),
)
"""They change the file at `path`, or those that a patch names."""

SHELL_SPECS = (
    _tool(
        SHELL,
        "Run a command without network or input. The working folder carries over, variables do not. Servers need "
        "background.",
        "command",
        command=_STRING,
        timeout=whole(f"seconds, {DEFAULT_TIMEOUT} if left out", maximum=MAX_TIMEOUT),
        background=_BOOLEAN,
        writes=True,
    ),
    _tool(
        "bash_output",
        "New output of a background command.",
        "id",
        id=_INTEGER,
        wait=whole("seconds"),
        writes=True,
    ),
    _tool("bash_kill", "End a background command, or all.", id=_INTEGER, writes=True),
)
"""They run commands and control those in the background: offered together."""

TOOL_SPECS = (*READING_SPECS, *WRITING_SPECS, *SHELL_SPECS)
"""In the order in which the model sees them. The schemas contain only what a model cannot guess: the tools refuse
numbers that are too small, and report in their results what is left out."""

READING = tuple(spec.name for spec in READING_SPECS)
WRITING = tuple(spec.name for spec in WRITING_SPECS)
SHELL_TOOLS = tuple(spec.name for spec in SHELL_SPECS)
