"""Workflow commands in a step's log, parsed as GitHub's runner parses them."""

FORMS = (
    "::set-env name=LD_PRELOAD::/tmp/x.so", "::set-output name=allowed::true", "::add-path::/tmp/bin",
    "::add-mask::a", "::save-state name=x::1", "::error file=a.py,line=1::all is lost", "::warning::x",
    "::notice::x", "::debug::x", "::group::x", "::endgroup::", "::echo::on",
    "::add-matcher::/tmp/matcher.json", "::remove-matcher owner=x::", "::stop-commands::known", "::known::",
    "   ::set-env name=A::indented", "\t::error::after a tab",
    "\u00a0\u3000::set-env name=A::after other blanks", "##[set-env name=A]old form",
    "text before ##[add-path]/tmp/bin", "\x1b[31m::set-env name=A::in colour",
    "\x1b]0;title\x07::set-env name=A::after a title", "done\r::set-env name=A::written over",
    "::set-env name=A%0A::x",
)  # fmt: skip
"""Lines that are a command, or become one when a part of them is removed."""


def commands(log: str) -> list[str]:
    """`::name` at a line's start, blanks apart, and `##[` anywhere in it; nothing between `stop-commands` and the
    token that it named."""
    commands_found: list[str] = []
    stopped = ""
    for line in log.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        stripped = line.lstrip()
        if stopped:
            if stripped.rstrip() == f"::{stopped}::":
                stopped = ""
        elif stripped.startswith("::stop-commands::"):
            stopped = stripped.removeprefix("::stop-commands::").rstrip()
        elif (stripped.startswith("::") and "::" in stripped[2:]) or ("##[" in line and "]" in line):
            commands_found.append(stripped)
    assert not stopped, "commands were never let through again"
    return commands_found
