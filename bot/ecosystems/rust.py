"""Rust."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.record import Ecosystem, Files, Pin, Server, Setup, server_beside, uses


def _checks(files: Files) -> Iterator[str]:
    is_workspace = re.search(r"^\[workspace\]", files.text("Cargo.toml") or "", re.MULTILINE)
    yield "cargo test --workspace" if is_workspace else "cargo test"


def _setup(files: Files, checks: Sequence[str]) -> Setup | None:
    return Setup(f"cargo fetch{' --locked' if 'Cargo.lock' in files.paths else ''}", ("rust",))


# No code of the project is run.
_ANALYZER = {
    "checkOnSave": False,
    "cargo": {"buildScripts": {"enable": False}},
    "procMacro": {"enable": False},
}
# Where cargo reads what to execute.
_CARGO_RUNS = (".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain")


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
        TESTS="cargo test; cargo nextest; cargo llvm-cov; cargo tarpaulin",
        BUILD="cargo build; cargo check",
    ),
    runs_no_test=re.compile(r"--(no-run|list|help)\b|nextest list|-- --list"),
    checks=_checks,
    setup=_setup,
    locks=("Cargo.lock",),
    kept=(".cargo/registry", ".cargo/git", ".cargo/bin"),
    compiles=True,
    suffixes=(".rs",),
    test="cargo test",
    install="cargo fetch",
    egress="rust",
    tools={".cargo": "", ".rustup": "RUSTUP_HOME"},
    caches={".cargo/registry": "CARGO_HOME={home}/.cargo"},
    pins=tuple(
        Pin(
            "rustup",
            file,
            ".cargo/bin",
            ".rustup/toolchains",
            "RUSTUP_TOOLCHAIN",
            "rustup toolchain install {version}",
            pattern,
        )
        for file, pattern in (
            ("rust-toolchain.toml", r"^\s*channel\s*=\s*\"(?P<version>[\w.+-]+)\""),
            ("rust-toolchain", r"\A\s*(?P<version>[\w.+-]+)\s*\Z"),
        )
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
)
