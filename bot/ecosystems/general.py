"""What belongs to no language: make and the like, linters of text, system packages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bot.ecosystems.record import Ecosystem, Files, Pin, uses

_MAKEFILES = ("Makefile", "makefile", "GNUmakefile")


def _checks(files: Files) -> Iterator[str]:
    text = next((files.text(name) or "" for name in _MAKEFILES if name in files.paths), "")
    targets = re.findall(r"^(test|check)\s*:(?!=)", text, re.MULTILINE)
    yield from [f"make {name}" for name in ("test", "check") if name in targets][:1]


ECOSYSTEM = Ecosystem(
    name="general",
    manifests=_MAKEFILES,
    uses=uses(
        SYSTEM="sudo; apt-get; apt; brew; apk; dnf; yum; choco; snap",
        LINT="""
            codespell; typos; yamllint; shellcheck; shfmt -d; actionlint; ansible-lint; markdownlint;
            markdownlint-cli2; hadolint; pre-commit; prek""",
        TESTS="bats; bazel test; act; prove; busted",
        BUILD="make; mkdir",
    ),
    scripts=("make", "just", "task", "mage"),
    launchers=("time", "exec", "command", "nice", "env", "xvfb-run", "retry", "timeout", "bash", "sh"),
    runs_no_test=re.compile(r"(^| )(-n|--dry-run|--just-print)( |$)"),
    checks=_checks,
    test="make test",
    tools={
        ".asdf": "ASDF_DATA_DIR",
        ".mise": "",
        ".local/share/mise": "MISE_DATA_DIR",
        ".ghcup": "",
        "hostedtoolcache": "",
    },
    pins=tuple(
        Pin(
            name,
            ".tool-versions",
            f"{folder}/shims",
            f"{folder}/installs/{{tool}}",
            "",
            f"{name} install {{tool}} {{version}}",
            r"^(?P<tool>[\w-]+)[ \t]+(?P<version>[\w.+-]+)",
        )
        for name, folder in (("asdf", ".asdf"), ("mise", ".local/share/mise"))
    ),
)
