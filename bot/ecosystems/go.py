"""Go."""

import re
import shlex
from collections.abc import Collection, Iterator, Sequence
from posixpath import dirname

from bot.ecosystems.checker import ANY, PATH, Checker, by_line, each_with
from bot.ecosystems.language_server import Server, server_beside
from bot.ecosystems.record import Action, Added, Dependencies, Ecosystem, Files, Suite, uses
from bot.ecosystems.test_command import MOST_PATHS, CheckCommand, Related
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Ends, ParsedTests, Runner, printed


def _checks(files: Files) -> Iterator[str]:
    yield "go test ./..."


def _setup(files: Files, checks: Sequence[str]) -> str:
    """Put dependencies into `vendor`, which Go uses by default; those of nested modules into Go's cache, since a
    `vendor` of theirs would have copies of the outer module."""
    if "require" not in (files.text("go.mod") or "") or "vendor/modules.txt" in files.paths:
        return ""
    if "go.work" in files.paths:
        return "go work vendor"
    nested = sorted(
        dirname(path) for path in files.paths if path.endswith("/go.mod") and "testdata" not in path
    )
    more = f' && for m in {shlex.join(nested[:MOST_PATHS])}; do (cd "$m" && go mod download) || true; done'
    return f"go mod vendor{more if nested else ''}"


_GO_PACKAGE = re.compile(r"(ok  |FAIL|---|\?   )\t(\S+)(?:\t.*| \[.*\])?")
_GO_END = re.compile(rf"{_GO_PACKAGE.pattern}|\{{.*\"Output\".*")
_GO_TEST = re.compile(r" *--- (PASS|FAIL|SKIP): (\S.*?) \([\d.]+s\)")
_GO_STATES = {"PASS": PASSED, "FAIL": FAILED, "SKIP": SKIPPED}


def go(lines: Sequence[str], ends: Ends) -> ParsedTests | None:
    """Subtests count instead of their parent, which fails with them. Without `-v` only failed tests are named."""
    lines = printed(lines)
    if not any(_GO_PACKAGE.fullmatch(line) for line in lines):
        return None
    tests = ParsedTests("go test's output", whole=any(line.startswith("=== RUN ") for line in lines))
    here: dict[str, str] = {}
    for line in lines:
        if match := _GO_TEST.fullmatch(line):
            here[match[2]] = _GO_STATES[match[1]]
        elif match := _GO_PACKAGE.fullmatch(line):
            _package(tests, match[1], match[2], here)
            here = {}
    return tests


def _package(tests: ParsedTests, word: str, package: str, here: dict[str, str]) -> None:
    parents = {dirname(name) for name in here}
    bad = [name for name, state in here.items() if state == FAILED]
    alone = [name for name in bad if not any(other.startswith(f"{name}/") for other in bad)]
    for name, state in here.items():
        if name in alone or (tests.whole and name not in parents):
            tests.add(f"{package}.{name}", state)
    if word == "FAIL" and not bad:
        tests.add(package, FAILED)  # it did not build, or died


def _steers_tests(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    return path.endswith("_test.go") and re.search(rb"(?m)^func\s+TestMain\s*\(", content or b"") is not None


def _report(command: str, words: list[str], report_file: str) -> CheckCommand | None:
    if words[:2] != ["go", "test"]:
        return None
    if not {"-v", "-json", "--json", "-bench"}.isdisjoint(words):
        return CheckCommand(command)
    return CheckCommand(command.replace("go test", "go test -v", 1))  # else it names only tests that fail


def _rerun(command: str, words: list[str], failed: Collection[str], report_file: str) -> CheckCommand | None:
    """Of `example.com/app.TestAdd/one_two` the function is run again, with all below it."""
    if words[:2] != ["go", "test"] or any(word.startswith(("-run", "--run", "-args")) for word in words):
        return None
    functions = {name.rpartition(".")[2].partition("/")[0] for name in failed}
    is_plain = all(re.fullmatch(r"Test[A-Za-z0-9_]*", function) for function in functions)
    selected = f"{command.rstrip()} -run '^({'|'.join(sorted(functions))})$'"
    return CheckCommand(selected) if is_plain else None


def _related_command(command: str, words: list[str], related: Related) -> str:
    """Return the command for the packages of the changed files; another module's are no part of it."""
    modules = tuple(path.removesuffix("go.mod") for path in related.paths if path.endswith("/go.mod"))
    own = [path for path in related.changed if path.endswith(".go") and not path.startswith(modules)]
    folders = sorted({dirname(path) for path in own})
    packages = [shlex.quote(f"./{folder}/...") if folder else "." for folder in folders]
    narrows = words[:2] == ["go", "test"] and "./..." in words
    if not narrows or not packages or len(packages) > MOST_PATHS:
        return ""
    return re.sub(r"(?<!\S)\./\.\.\.(?!\S)", lambda _: " ".join(packages), command, count=1)


_PLACED = by_line(
    r"(?:vet: )?(?P<path>[^\s:#][^:\n]*):(?P<line>\d{1,9})(?::(?P<column>\d{1,9})(?:-\d{1,9}(?::\d{1,9})?)?)?: "
    r"(?P<message>.*)$"
)
"""`path:line:column: message`, as Go's programs print it."""


ECOSYSTEM = Ecosystem(
    name="go",
    manifests=("go.mod",),
    uses=uses(
        NONE="go fmt; gofmt -w; go clean; go run; goreleaser",
        INSTALL="go get; go install; go mod; go env; go version; go generate; go work",
        LINT="go vet; staticcheck; golangci-lint; gofmt; gofumpt",
        TESTS="go test; richgo test; gotestsum",
        BUILD="go build; go list",
    ),
    runs_no_test=re.compile(r"-run[= ]'?(\^\$|NONE|XXX|\^#)'?(?=\s|$)|\s--?(list|c)\b|-exec[= ]true"),
    checks=_checks,
    setup=_setup,
    makes="vendor",
    relock={"go.sum": "go mod tidy"},
    locks=("go.sum", "go.work.sum"),
    home_packages=("go/pkg/mod", "go/bin"),
    compiles=True,
    suffixes=(".go",),
    test="go test ./...",
    install="go mod download",
    egress="go",
    tools={".goenv": "GOENV_ROOT"},
    # As a proxy: as Go's own cache it would have to be writable.
    caches={
        "go/pkg/mod/cache/download": "GOPROXY=file://{home}/go/pkg/mod/cache/download,https://proxy.golang.org,direct"
    },
    folders=("vendor",),
    copies="A vendor folder made before has copies of local modules: remove it, or run `go mod vendor` in the check",
    servers=(
        Server(
            "gopls",
            {".go": "go"},
            server_beside(("go.work", "go.mod"), "there is no go.mod", "gopls", own=False),
            # No download, no toolchain chosen by the repository, no change of go.mod and go.sum.
            {
                "GOFLAGS": "-mod=readonly",
                "GOTOOLCHAIN": "local",
                "GOTELEMETRY": "off",
                "GOPROXY": "off",
                "GOCACHE": "{tmp}/go",
            },
            missing=frozenset({"BrokenImport"}),
        ),
    ),
    counts=(r"DONE (?P<ran>\d+) tests?(, \d+ [a-z]+)* in .*",),  # gotestsum
    runners=(Runner(go, _GO_END),),
    checking={"GOTOOLCHAIN": "local"},
    outline={".go": r"(?:func|type|var|const)\b"},
    suites=(
        Suite(
            suffixes="go",
            tests="*_test testutil* test_util* testhelper*",
            mixed="go.mod go.work",
            # A function that receives `t` may fail the test.
            assertion=(
                r"\bt\.(?:Error|Fatal|Fail)|\b(?:assert|require|is|qt|check)\.[A-Z]\w*\s*\(|\bcmp\.Diff\s*\("
                r"|[(,]\s*t\s*[,)]"
            ),
            skip=r"\b[tb]\.Skip|\btesting\.Short\s*\(",
            test=r"^func\s+(?:\([^()]*\)\s*)?((?:Test|Fuzz|Example)\w*)\s*\(",
        ),
    ),
    steers_tests=_steers_tests,
    dependencies=Dependencies(
        lines={"go.mod": r"\s*(?:require\s+)?([\w.~-]+(?:/[\w.~-]+)+)\s+v\d"},
        locks={"go.sum": r"(\S+) v\S+ h1:"},
        sources={"go.mod": r"\s*(?:replace\s+)?\S+(?:\s+v\S+)?\s+=>\s+(\S+)"},
    ),
    sensitive={"dependency manifest": "go.mod go.work", "lock file": "go.sum go.work.sum"},
    hosts=("proxy.golang.org", "sum.golang.org"),
    interpreters=("go",),
    also_read=("go.work",),
    actions={
        "actions/setup-go": Action(
            "924ae3a1cded613372ab5595356fb5720e22ba16 # v6.5.0", "go-version architecture", {"cache": "false"}
        )
    },
    passed=("GOROOT",),
    # It would fetch from GitHub, which is on no list, what its proxy does not have.
    online={"GOPROXY": "https://proxy.golang.org", "GOTOOLCHAIN": "local"},
    mirror="GOPROXY",
    build_caches=("~/.cache/go-build",),
    forget="[ ! -d ~/.cache/go-build ] || date +%s%N > ~/.cache/go-build/testexpire.txt",
    checkers=(
        Checker(
            "go-vet",
            "vet ./...",
            PATH,
            "go",
            "placed",
            ("version",),
            exits=(0, 1, 2),
            unit="utf-8",
            settings="**/go.mod go.work",
            together=True,
            hides=ANY,
            projects=each_with("go.mod"),
            manifest="go.mod",
        ),
    ),
    forms={"placed": _PLACED},
    report=_report,
    reporting={"GOFLAGS": "-v"},
    rerun=_rerun,
    related_command=_related_command,
    absent=("no required module provides package",),
    installed_beside=dict.fromkeys(("", "go.mod"), ("vendor",)),
)
