"""C# and F#: the .NET command line."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.jvm import ASSERTION, SKIP, TEST
from bot.ecosystems.record import CLASSES, Action, Ecosystem, Files, Suite, uses


def _checks(files: Files) -> Iterator[str]:
    yield "dotnet test"


def _setup(files: Files, checks: Sequence[str]) -> str:
    locked = any(path.endswith("packages.lock.json") for path in files.paths)
    return f"dotnet restore{' --locked-mode' if locked else ''}"


ECOSYSTEM = Ecosystem(
    name="dotnet",
    manifests=("*.sln", "*.slnx", "global.json"),
    uses=uses(
        NONE="dotnet publish; dotnet pack; dotnet nuget; dotnet --info",
        INSTALL="dotnet restore; dotnet tool; dotnet workload",
        LINT="dotnet format",
        TESTS="dotnet test",
        BUILD="dotnet build",
    ),
    runs_no_test=re.compile(r"--list-tests\b|(\s|^)-t\b"),
    checks=_checks,
    setup=_setup,
    locks=("packages.lock.json", "Directory.Packages.props", "*.csproj", "*.fsproj"),
    home_packages=(".nuget/packages",),
    compiles=True,
    suffixes=(".cs", ".fs", ".vb"),
    test="dotnet test",
    install="dotnet restore",
    egress="dotnet",
    counts=(r"(Passed|Failed)! +- Failed: +\d+, Passed: +\d+, Skipped: +\d+, .*",),
    tools={".dotnet": ""},
    caches={".nuget/packages": ""},
    copies="A build made before is not the tree: test without `--no-build`",
    outline={".cs": CLASSES},
    suites=(
        Suite(
            suffixes="cs fs vb",
            tests="*Test *Tests",
            settings="*.runsettings xunit.runner.json",
            mixed="*.csproj *.fsproj *.vbproj Directory.Build.*",
            assertion=ASSERTION,
            skip=SKIP,
            test=TEST,
        ),
    ),
    sensitive={
        "dependency manifest": "*.csproj *.fsproj packages.config nuget.config",
        "lock file": "packages.lock.json",
    },
    hosts=("api.nuget.org",),
    interpreters=("dotnet",),
    actions={
        "actions/setup-dotnet": Action(
            "a98b56852c35b8e3190ac28c8c2271da59106c68 # v6.0.0", "dotnet-version architecture"
        )
    },
    passed=("DOTNET_ROOT",),
)
