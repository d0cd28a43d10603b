"""What an `allow` rule for commands gives away beyond its words: for people who check a policy, not for deciding."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, product

from bot.policy.rule import CommandPattern
from bot.policy.wrappers import running_parts

# By how a command begins: the files of the repository that it runs, or takes orders from. The agent may change them.
_RUNS_FILES: Mapping[tuple[str, ...], str] = {
    **dict.fromkeys([("pytest",), ("py.test",), ("tox",), ("nox",)], "conftest.py, the tests and their settings"),
    **dict.fromkeys(
        [(one, two) for one in ("npm", "pnpm", "yarn") for two in ("test", "t", "start", "build", "install", "ci")],
        "the scripts in package.json",
    ),
    **dict.fromkeys([("cargo", two) for two in ("build", "check", "test", "bench", "clippy", "doc")], "build.rs"),
    ("go", "test"): "the tests",
    ("pip", "install"): "setup.py and the build system",
    ("pip3", "install"): "setup.py and the build system",
    **dict.fromkeys([("mvn",), ("gradle",), ("ant",), ("sbt",)], "the build file"),
    **dict.fromkeys([("cmake",), ("ctest",), ("meson",), ("bazel",), ("buck2",)], "the build files"),
    **dict.fromkeys([("docker", "build"), ("podman", "build")], "the Dockerfile"),
    **dict.fromkeys([("jest",), ("vitest",), ("mocha",), ("eslint",), ("webpack",)], "its settings, which are code"),
    **dict.fromkeys([("rspec",), ("phpunit",)], "the tests and their settings"),
    ("mix", "test"): "the tests and their settings",
    ("dotnet", "test"): "the tests",
    ("dotnet", "build"): "the project file",
    ("pre-commit",): "the hooks in .pre-commit-config.yaml",
    ("git", "commit"): "the hooks of the clone",
    ("terraform",): "the providers that its files name",
    ("ansible-playbook",): "the playbook",
}  # fmt: skip
# Programs whose subcommands do very different things, with some that a short rule would not want.
_MANY: Mapping[str, str] = {
    "git": "`git push` and `git commit` with its hooks",
    "gh": "`gh api` and `gh pr merge`",
    "npm": "`npm publish` and the scripts of packages",
    "pnpm": "`pnpm publish`",
    "yarn": "`yarn publish`",
    "pip": "`pip install`, which runs what it fetches",
    "pip3": "`pip3 install`, which runs what it fetches",
    "cargo": "`cargo publish` and `cargo test`",
    "go": "`go test` and `go install`",
    "uv": "`uv publish` and `uv sync`",
    "poetry": "`poetry publish`",
    "docker": "`docker build` and `docker cp`",
    "podman": "`podman build` and `podman cp`",
    "kubectl": "`kubectl apply` and `kubectl delete`",
    "bundle": "`bundle install`",
    "dotnet": "`dotnet test` and `dotnet nuget push`",
    "aws": "everything that its account may do",
    "gcloud": "everything that its account may do",
    "az": "everything that its account may do",
    "apt": "`apt install`",
    "apt-get": "`apt-get install`",
    "brew": "`brew install`",
}  # fmt: skip
_MOST_SPELLINGS = 200


def gives_away(pattern: CommandPattern, *, opaque_is_ruled: bool) -> str:
    """A sentence on what an `allow` of `pattern` covers besides, or does not cover; empty where that is nothing worth
    saying. With `opaque_is_ruled` another rule refuses, or asks about, what the grammar cannot prove simple."""
    for words in islice(product(*(sorted(token) for token in pattern)), _MOST_SPELLINGS):
        said = _of_words(words, opaque_is_ruled)
        if said:
            return said
    return ""


def _of_words(words: tuple[str, ...], opaque_is_ruled: bool) -> str:
    name, spelled = words[0], " ".join(words[:2])
    if "/" in name:
        return f"`{name}` is a file, and one of the repository does what the agent last wrote into it"
    for begin in (words[:1], words[:2]):
        if begin in _RUNS_FILES:
            said = " ".join(begin)
            return f"`{said}` runs {_RUNS_FILES[begin]}, which the agent may change: so it may run anything by this"
    if len(words) == 1 and name in _MANY:
        return f"`{name}` by itself covers {_MANY[name]} too; name the subcommands that are meant"
    parts = running_parts(words)
    if parts and not opaque_is_ruled:
        some = ", ".join(f"`{part}`" for part in parts[:2])
        return (
            f"`{spelled}` with {some} or the like runs other commands: that is opaque, so this rule does not cover it, "
            "and it is still allowed unless a rule says `opaque: true`"
        )
    return ""
