"""C and C++: CMake, Meson, Autotools."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.ecosystems.record import Ecosystem, Files, Server, server_beside, uses

_CMAKE_TESTS = re.compile(r"(?i)\b(enable_testing|include\s*\(\s*ctest)")


def _checks(files: Files) -> Iterator[str]:
    if "CMakeLists.txt" in files.paths and _CMAKE_TESTS.search(files.text("CMakeLists.txt") or ""):
        yield "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"
    elif "meson.build" in files.paths:
        yield "meson setup build && meson test -C build"


_FILES = {".c": "c", ".h": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp")}


ECOSYSTEM = Ecosystem(
    name="native",
    manifests=("CMakeLists.txt", "meson.build"),
    uses=uses(
        TESTS="ctest; meson test; ninja test; cmake test",
        LINT="clang-tidy; clang-format --dry-run; cppcheck",
        BUILD="cmake; ninja; meson; configure; autogen.sh; bootstrap; autoreconf; bazel build",
    ),
    runs_no_test=re.compile(r"\bctest\b.*\s(-N|--show-only)\b"),
    checks=_checks,
    suffixes=(".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".hxx"),
    test="ctest --test-dir build",
    counts=(
        r"\[  PASSED  \] (?P<passed>\d+) tests?\.",
        r"\[  FAILED  \] (?P<failed>\d+) tests?, listed below:",
        r"All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)",
        r"test cases: +\d+ \| +(?P<passed>\d+) passed( \| +(?P<failed>\d+) failed)?.*",
    ),
    copies="A program built before is not the tree: build in the check, before its tests",
    servers=(
        Server(
            "clangd",
            _FILES,
            server_beside(
                ("compile_commands.json", "build/compile_commands.json"),
                "there is no compile_commands.json",
                "clangd",
                "--background-index=false",
                "--compile-commands-dir={root}",
            ),
        ),
    ),
)
