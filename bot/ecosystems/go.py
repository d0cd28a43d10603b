"""Go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.record import Ecosystem, Files, Server, Setup, server_beside, uses


def _checks(files: Files) -> Iterator[str]:
    yield "go test ./..."


def _setup(files: Files, checks: Sequence[str]) -> Setup | None:
    """Put dependencies into `vendor`, which Go uses by default."""
    if "require" not in (files.text("go.mod") or "") or "vendor/modules.txt" in files.paths:
        return None
    return Setup("go work vendor" if "go.work" in files.paths else "go mod vendor", ("go",), "vendor")


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
    locks=("go.sum", "go.work.sum"),
    kept=("go/pkg/mod", "go/bin"),
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
)
