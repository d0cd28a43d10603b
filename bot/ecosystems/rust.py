"""Rust."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from posixpath import basename
from typing import Any

from bot.contracts.regular_files import read_regular
from bot.ecosystems.checker import (
    ANY,
    ERROR,
    PATH,
    WARNING,
    Checker,
    Find,
    above,
    entries,
    parsed,
    table,
    topmost_with,
)
from bot.ecosystems.language_server import Server, server_beside
from bot.ecosystems.record import Action, Added, Dependencies, Ecosystem, Files, Pin, Suite, uses
from bot.ecosystems.test_command import MOST_PATHS, Related, command_line
from bot.ecosystems.test_results import FAILED, PASSED, SKIPPED, Named, Runner, by_names


def _checks(files: Files) -> Iterator[str]:
    is_workspace = re.search(r"^\[workspace\]", files.text("Cargo.toml") or "", re.MULTILINE)
    yield "cargo test --workspace" if is_workspace else "cargo test"


def _setup(files: Files, checks: Sequence[str]) -> str:
    return f"cargo fetch{' --locked' if 'Cargo.lock' in files.paths else ''}"


# No code of the project is run.
_ANALYZER = {
    "checkOnSave": False,
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
}
_PIN = Pin(
    "rustup",
    "rust-toolchain",
    ".cargo/bin",
    ".rustup/toolchains",
    "RUSTUP_TOOLCHAIN",
    "rustup toolchain install {version}",
)
# Where cargo reads what to execute.
_CARGO_RUNS = (".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")


_CARGO_RESULT = re.compile(r"test result: (?:ok|FAILED)\. \d+ passed; \d+ failed; \d+ ignored; .*")
_RUNNING = re.compile(r" +(?:Running (?:unittests )?(\S+)|Doc-tests \S+).*")
_CARGO_STATES = {"ok": PASSED, "FAILED": FAILED, "ignored": SKIPPED}

_NEXTEST_END = re.compile(r" +Summary \[.*\] +(?:\d+/)?\d+ tests? run: .*")
_NEXTEST_TEST = re.compile(
    r" +(PASS|LEAK|SLOW|FAIL|TIMEOUT|ABORT|SIG\w+|FLAKY \d+/\d+) \[[^\]]*\](?: \(.*?\))? (\S+) (\S.*)"
)


def cargo(lines: Sequence[str]) -> Named:
    """Every test is named; the source file of the binary is part of the name."""
    where = ""
    for line in lines:
        if match := _RUNNING.fullmatch(line):
            where = match[1] or ""  # the name of a test in documentation begins with its file
        elif line.startswith("test "):
            # Output of the test may precede the state; the reason for a skip follows it.
            name, _, text = line[len("test ") :].partition(" ... ")
            state = next((state for word, state in _CARGO_STATES.items() if text.endswith(word)), "")
            if state := SKIPPED if text.startswith("ignored") else state:
                name = name.removesuffix(" - should panic")
                yield f"{where}::{name}" if where else name, state


def nextest(lines: Sequence[str]) -> Named:
    """Every test that ran is named, failed ones again at the end; skipped ones are only counted."""
    states: dict[str, str] = {}
    for match in filter(None, map(_NEXTEST_TEST.fullmatch, lines)):
        if match[1] != "SLOW":  # it goes on
            good = match[1].startswith(("PASS", "LEAK", "FLAKY"))
            states[f"{match[2]} {match[3]}"] = PASSED if good else FAILED
    return states.items()


def _cargo_messages(output: str) -> Iterator[Find]:
    """Parse one object a line. A library is compiled twice, as itself and for its tests: duplicates are left out."""
    seen: set[str] = set()
    for line in filter(None, map(str.strip, output.splitlines())):
        entry = table(parsed(line))
        message = table(entry, "message")
        if entry.get("reason") != "compiler-message" or message.get("level") not in (ERROR, WARNING):
            continue
        spans = [span for span in entries(message.get("spans")) if span.get("is_primary") is True]
        if not spans:
            continue  # "aborting due to 2 previous errors", and what concerns no file
        span = spans[0]
        find = Find(
            span.get("file_name"), span.get("line_start"), span.get("column_start"), message["level"],
            table(message, "code").get("code"), message.get("message"),
        )  # fmt: skip
        if (same := repr(find)) not in seen:
            seen.add(same)
            yield find


def _crates(root: Path, changed: Sequence[str]) -> list[str]:
    """The name of the package whose `Cargo.toml` is the nearest above each file."""
    names: dict[str, None] = {}
    for path in changed:
        for folder in above(path):
            try:
                content = read_regular(root / folder / "Cargo.toml", 400_000)
                name = table(tomllib.loads(content.decode()), "package").get("name")
            except (OSError, ValueError, RecursionError):
                continue
            if isinstance(name, str):
                names[name] = None
                break
    return list(names)


_DEFINED = (
    r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:async|unsafe|const|extern)\s+)*"
    r"(?:fn|struct|enum|trait|impl|mod|type|macro_rules!)\b"
)


_NO_HARNESS = re.compile(rb"\s*+harness\s*+=\s*+false\b")


def _steers_tests(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    return basename(path) == "cargo.toml" and any(map(_NO_HARNESS.match, added))


def _declared(data: Any) -> Iterator[str]:
    for one in (data, table(data, "workspace"), *table(data, "target").values()):
        for kind in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from table(one, kind)


def _related_command(command: str, words: list[str], related: Related) -> str:
    crates = [
        name for name in dict.fromkeys(related.tests) if re.match(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,80}\Z", name)
    ][:MOST_PATHS]
    arguments = [word for word in words[1:] if word not in ("--workspace", "--all")]
    named = [word for name in crates for word in ("-p", name)]
    narrows = words[:2] == ["cargo", "test"] and not {"-p", "--package"}.intersection(words)
    return command_line(command, 0, [*arguments, *named]) if crates and narrows else ""


ECOSYSTEM = Ecosystem(
    name="rust",
    manifests=("Cargo.toml",),
    uses=uses(
        NONE="""
            cargo publish; cargo doc; cargo bench; cargo miri; cargo fuzz; cargo audit; cargo deny;
            cargo outdated; cargo semver-checks; cargo llvm-cov report; cargo run""",
        INSTALL="cargo install; cargo fetch; cargo generate-lockfile; cargo update; cargo binstall",
        SYSTEM="rustup",
        LINT="cargo clippy; cargo fmt",
        TESTS="cargo test; cargo t; cargo nextest; cargo llvm-cov; cargo tarpaulin",
        BUILD="cargo build; cargo check",
    ),
    runs_no_test=re.compile(r"--(no-run|list|help)\b|nextest list|-- --list"),
    checks=_checks,
    setup=_setup,
    relock={"Cargo.lock": "cargo update --workspace"},
    locks=("Cargo.lock",),
    home_packages=(".cargo/registry", ".cargo/git", ".cargo/bin"),
    compiles=True,
    suffixes=(".rs",),
    test="cargo test",
    install="cargo fetch",
    egress="rust",
    tools={".cargo": "", ".rustup": "RUSTUP_HOME"},
    caches={".cargo/registry": "CARGO_HOME={home}/.cargo"},
    pins=(
        _PIN._replace(file="rust-toolchain.toml", pattern=r"^\s*channel\s*=\s*\"(?P<version>[\w.+-]+)\""),
        _PIN._replace(pattern=r"\A\s*(?P<version>[\w.+-]+)\s*\Z"),
    ),
    folders=("vendor", "target"),
    offline={"CARGO_NET_OFFLINE": "true"},
    copies="A program installed or built before is not the tree: build it in the check",
    servers=(
        Server(
            "rust-analyzer",
            {".rs": "rust"},
            server_beside(
                ("Cargo.lock",),  # of a workspace it is at the top
                "there is no Cargo.lock, and cargo would write one",
                "rust-analyzer",
                own=False,
                runs=_CARGO_RUNS,
                options=_ANALYZER,
            ),
            {"CARGO_TARGET_DIR": "{tmp}/cargo-target", "CARGO_NET_OFFLINE": "true"},
            ("rust-analyzer", "cargo check"),
        ),
    ),
    runners=(
        Runner(by_names("cargo test's output", cargo), _CARGO_RESULT),
        Runner(by_names("cargo nextest's output", nextest), _NEXTEST_END),
    ),
    forms={"cargo": _cargo_messages},
    related=_crates,
    checking={"CARGO_NET_OFFLINE": "true", "CARGO_TARGET_DIR": "{tmp}/cargo-target"},
    outline={".rs": _DEFINED},
    suites=(
        Suite(
            suffixes="rs",
            tests="test tests test_* *_test *_tests",
            settings="nextest.toml",
            mixed="Cargo.toml",
            # Declarations of test modules in other files, what follows the first test, and examples in documentation.
            inside=(
                r"#\[cfg\([^\]\n]{0,200}\btest\b[^\]\n]{0,200}\]\s{0,100}(?:mod\s{1,9}\w+|use\s[^;]{1,300});"
                r"|(?:#\[(?:cfg\([^\]\n]{0,200}\btest\b|(?:\w+::){0,9}(?:\w*test|test_case|quickcheck)\b)|\bproptest!)"
                r"[\s\S]*|^[ \t]*//[/!] *```[\s\S]*?^[ \t]*//[/!] *```"
            ),
            beside=True,
            assertion=r"\b(?:debug_)?assert\w*!|\bshould_panic\b|\bpanic!",
            skip=r"#\[\s*ignore\b|#!?\[\s*cfg\s*\(\s*(?:any\s*\(\s*\)|not\s*\(\s*test)",
            test=r"#\[\s*(?:\w+::)*test\b",
        ),
    ),
    steers_tests=_steers_tests,
    dependencies=Dependencies(
        manifests={"cargo.toml": (tomllib.loads, _declared)},
        settings=".cargo/config* */.cargo/config* cargo.toml",
    ),
    sensitive={"dependency manifest": "cargo.toml", "lock file": "cargo.lock"},
    sections={"cargo.toml": r"(?:workspace\.)?(lints)\b"},
    hosts=("index.crates.io", "static.crates.io"),
    actions={
        "dtolnay/rust-toolchain": Action("4cda84d5c5c54efe2404f9d843567869ab1699d4 # stable", "toolchain")
    },
    authorities=("CARGO_HTTP_CAINFO",),
    checkers=(
        Checker(
            "cargo",
            "check --message-format json --offline --workspace --all-targets --keep-going",
            PATH,
            exits=(0, 101),
            settings="**/Cargo.toml **/build.rs **/.cargo/* rust-toolchain rust-toolchain.toml",
            hides=ANY,
            projects=topmost_with("Cargo.toml"),
            manifest="Cargo.toml",
        ),
    ),
    related_command=_related_command,
    absent=(
        "failed to download from",
        "no matching package named",
        r"^error: no such (?:sub)?command:",
        r"^error: toolchain '.*' is not installed",
        r"^error: '\S+' is not installed for the toolchain",
    ),
    installed_beside={"Cargo.toml": ("vendor", "target")},
    built="target",
    beside={".cargo": ".rustup"},
)
