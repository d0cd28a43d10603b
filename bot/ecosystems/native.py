"""C and C++: CMake, Meson, Autotools."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.language_server import Server, server_beside
from bot.ecosystems.record import NOT_CALLS, TYPES, Ecosystem, Files, Suite, uses
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Ends, ParsedTests, Runner

_CMAKE_CACHED = re.compile(r"(?m)^(\w+):(?:BOOL|STRING|UNINITIALIZED|INTERNAL)=([\w.+-]+)$")
_CMAKE_CACHES = tuple(
    f"{folder}/CMakeCache.txt" for folder in ("build", "_build", "out", "cmake-build-debug")
)
_TRUE = ("ON", "TRUE", "YES", "Y", "1")


def _checks(files: Files) -> Iterator[str]:
    lists = files.text("CMakeLists.txt") or "" if "CMakeLists.txt" in files.paths else ""
    if re.search(r"(?i)\b(enable_testing|include\s*\(\s*ctest)", lists):
        options = " ".join(("cmake -S . -B build", *_cmake_options(lists, files)))
        yield f"{options} && cmake --build build -j 4 && ctest --test-dir build --output-on-failure"
    elif "meson.build" in files.paths:
        yield "meson setup build && meson test -C build"


def _cmake_options(lists: str, files: Files) -> Iterator[str]:
    """The options with which the user configured a build: the generator and build type, and options of the project
    that differ from their defaults."""
    cached = dict(_CMAKE_CACHED.findall(next(filter(None, map(files.text, _CMAKE_CACHES)), "")))
    if generator := cached.get("CMAKE_GENERATOR"):  # names of two words are older and the default
        yield f"-G {generator}"
    if kind := cached.get("CMAKE_BUILD_TYPE"):
        yield f"-DCMAKE_BUILD_TYPE={kind}"
    for name, default in re.findall(r'(?im)^[ \t]*option\s*\(\s*(\w+)\s+"[^"]*"\s*(\w*)\s*\)', lists):
        value = cached.get(name, "").upper()
        if value and (value in _TRUE) != (default.upper() in _TRUE):
            yield f"-D{name}={value}"


_FILES = {".c": "c", ".h": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), "cpp")}


_CTEST_END = re.compile(r"\d+% tests passed, \d+ tests? failed out of (\d+)")
_CTEST_TEST = re.compile(
    r" *\d+/\d+ Test +#\d+: (\S.*?) \.*(?: +|\*\*\*)(Passed|Skipped|Not Run \(Disabled\)|[A-Z]\w*).*"
)
_CTEST_STATES = {"Passed": PASSED, "Skipped": SKIPPED, "Not Run (Disabled)": SKIPPED}


def ctest(lines: Sequence[str], ends: Ends) -> ParsedTests:
    """Every test is named; the word for its state is also the reason if it fails."""
    tests = ParsedTests("ctest's output")
    for match in filter(None, map(_CTEST_TEST.fullmatch, lines)):
        state = _CTEST_STATES.get(match[2], FAILED)
        tests.add(match[1], state)
        if state == FAILED:
            tests.explain(match[1], match[2])
    return tests


_DEFINED = rf"{TYPES}|#define\s+\w+|(?:typedef|union)\b|{NOT_CALLS}[A-Za-z_][\w\s*&:<>,~]*\([^;]*$"


ECOSYSTEM = Ecosystem(
    name="native",
    manifests=("CMakeLists.txt", "meson.build"),
    uses=uses(
        TESTS="ctest; meson test; ninja test; ninja check; cmake test; cmake check",
        LINT="clang-tidy; clang-format --dry-run; cppcheck",
        BUILD="cmake; ninja; meson; configure; autogen.sh; bootstrap; autoreconf; bazel build",
    ),
    runs_no_test=re.compile(r"\bctest\b.*\s(-N|--show-only)\b"),
    checks=_checks,
    builds_leave=_CMAKE_CACHES,
    suffixes=tuple(_FILES),
    test="ctest --test-dir build",
    counts=(
        r"\[  PASSED  \] (?P<passed>\d+) test(s|\(s\))?\.",
        r"\[  FAILED  \] (?P<failed>\d+) test(s|\(s\))?, listed below:",
        r"All tests passed \(\d+ assertions? in (?P<passed>\d+) test cases?\)",
        # Meson, and `make check` of Automake.
        r"(?:Ok|Expected Fail): +(?P<passed>\d+)",
        r"(?:Fail|Unexpected Pass|Timeout): +(?P<failed>\d+)",
        r"Skipped: +(?P<skipped>\d+)",
        r"# (?:PASS|XFAIL): +(?P<passed>\d+)",
        r"# (?:FAIL|XPASS|ERROR): +(?P<failed>\d+)",
        r"(?P<ran>\d+) Tests \d+ Failures \d+ Ignored",  # Unity
        r"# SKIP: +(?P<skipped>\d+)",
        r"(\[doctest\] )?test cases: +\d+ \| +(?P<passed>\d+) passed( \| +(?P<failed>\d+) failed)?.*",
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
    runners=(Runner(ctest, _CTEST_END),),
    outline=dict.fromkeys((*_FILES, ".m", ".mm"), _DEFINED),
    suites=(
        Suite(
            suffixes="c cc cpp cxx h hh hpp hxx m mm",
            tests="test tests test_* *_test *_tests *_unittest *_unittests *Test *Tests",
            settings="CTestConfig.cmake CTestCustom.cmake",
            mixed="CMakeLists.txt meson.build configure.ac Makefile.am BUILD BUILD.bazel",
        ),
    ),
    sensitive={"dependency manifest": "conanfile.*", "configuration": "cmakelists.txt"},
)
