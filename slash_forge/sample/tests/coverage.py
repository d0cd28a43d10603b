"""Which lines of tidytime the tests run, left in lcov.info by every run of them. The standard library is enough."""

import atexit
import dis
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tidytime"


def start():
    """Count from now on; the report is written when Python ends."""
    ran = {}
    atexit.register(report, ran)
    sys.settrace(lambda frame, event, argument: trace(frame, ran))


def trace(frame, ran):
    file = os.path.abspath(frame.f_code.co_filename)
    if os.path.dirname(file) != str(PACKAGE):
        return None
    lines = ran.setdefault(file, set())

    def count(frame, event, argument):
        lines.add(frame.f_lineno)
        return count

    return count(frame, "call", None)


def report(ran):
    sys.settrace(None)
    written = []
    for file in sorted(PACKAGE.glob("*.py")):
        lines = ran.get(str(file), ())
        written.append(f"SF:{file.relative_to(ROOT).as_posix()}")
        code = compile(file.read_text(encoding="utf-8"), str(file), "exec")
        written += [f"DA:{line},{int(line in lines)}" for line in sorted(lines_of(code))]
        written.append("end_of_record")
    (ROOT / "lcov.info").write_text("\n".join(written) + "\n", encoding="utf-8")


def lines_of(code):
    """The lines that can be run, those of the functions in it among them."""
    found = {line for _, line in dis.findlinestarts(code) if line}
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            found |= lines_of(constant)
    return found
