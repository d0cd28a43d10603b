"""How the tests of a Python command are reported, run again and narrowed: pytest and unittest."""

import re
import shlex
import tomllib
from collections.abc import Callable, Collection, Iterator, Sequence
from posixpath import basename

from bot.ecosystems.checker import is_in, table
from bot.ecosystems.record import Files, listed
from bot.ecosystems.registry import unwrapped
from bot.ecosystems.test_command import MOST_PATHS, CheckCommand, Related, command_line, is_plain, plain_words
from bot.ecosystems.test_files import named_as_test

_UNITTEST_NAME = re.compile(r"(?a:\w+(?:\.\w+)+)")
_MODULE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*\.py\Z")
# Options of pytest that take the next word, beside those written with `=`.
_OPTIONS_WITH_VALUE = listed("-k; -m; -n; -p; -o; -c; -W; -r; --rootdir; --ignore; --cov; --deselect")


def report(command: str, words: list[str], report_file: str) -> CheckCommand | None:
    if _pytest_index(words) is not None:
        # A report that the command names gives way to ours. Where a file cannot be collected the others are still run:
        # it ends with 1 and not with 2, which is as much of a failure, and the tests of the others are known.
        options = f'--junitxml="$TMPDIR/{report_file}" --continue-on-collection-errors'
        return CheckCommand(f"{command.rstrip()} {options}", report_file, complete=True)
    if _index(words, "unittest") is not None:
        verbose = any(word in ("-v", "--verbose", "-q", "--quiet") for word in words)
        return CheckCommand(command if verbose else f"{command.rstrip()} -v")
    return None


def rerun(command: str, words: list[str], failed: Collection[str], report_file: str) -> CheckCommand | None:
    if (index := _pytest_index(words)) is not None:
        rest = words[index + 1 :]
        if "no:cacheprovider" in " ".join(rest) or not {"--lf", "--ff", "--last-failed"}.isdisjoint(rest):
            return None
        options = ["--lf", "--lfnf=none"]
    elif _index(words, "unittest") is None or not all(map(_UNITTEST_NAME.fullmatch, failed)):
        return None
    else:
        options = [f"-k {name}" for name in sorted(failed)]
    selected = " ".join((command.rstrip(), *options))
    return report(selected, plain_words(selected), report_file)


def related_command(command: str, words: list[str], related: Related) -> str:
    unique = dict.fromkeys(related.tests)
    tests = [path for path in unique if path in related.paths and is_plain(path)][:MOST_PATHS]
    if (index := _pytest_index(words)) is not None:
        arguments, named_paths = _without_paths(words[index + 1 :], related.paths)
        tests = [test for test in tests if not named_paths or any(is_in(test, path) for path in named_paths)]
        return command_line(command, index, [*arguments, *tests]) if tests else ""
    modules = [test for test in tests if _MODULE.match(test)]
    index = _index(words, "unittest")
    if index is None or not modules:
        return ""
    options = words[index + 1 :]
    if not {"-v", "-q", "-b", "-f", "--verbose", "--buffer"}.issuperset(options):
        return ""
    named = [module.removesuffix(".py").replace("/", ".") for module in modules]
    return command_line(command, index, [*options, *named])


def _without_paths(words: Sequence[str], paths: Collection[str]) -> tuple[list[str], list[str]]:
    """Split words into others and those that name files or folders of the repository."""
    folders = {path[:index] for path in paths for index, letter in enumerate(path) if letter == "/"}
    other: list[str] = []
    named_paths: list[str] = []
    for previous, word in zip(("", *words), words, strict=False):
        name = word.partition("::")[0].strip("/").removeprefix("./")
        is_named = not word.startswith("-") and previous not in _OPTIONS_WITH_VALUE
        is_path = is_named and (name in paths or name in folders)
        (named_paths if is_path else other).append(name if is_path else word)
    return other, named_paths


def _index(words: list[str], *programs: str) -> int | None:
    """Return the index of the program that a command runs, if it is one of `programs`."""
    inner = unwrapped(words)
    return len(words) - len(inner) if inner and inner[0] in programs else None


def _pytest_index(words: list[str]) -> int | None:
    return _index(words, "pytest", "py.test")


VENV = ".venv"
_MANAGERS = listed("uv; poetry; pdm; pipenv; hatch; tox; nox")
_GROUPS = listed("test; tests; testing; dev; develop")
# A test that is a function at the top of a module; `test_suite` builds the suite of a unittest module.
_PYTEST = re.compile(r"(?m)^(?:import|from) +pytest\b|^(?:async +)?def +test(?!_suite\b)")
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(requirements|dev|test|tests|testing)[\w-]*\.txt")
_OTHER = re.compile("doc|oldest|lowest|minim")
_VERSION_TOOL = re.compile(
    r"\b(?:setuptools[_-](?:scm|git-versioning)|use_scm_version|vcs[_-]versioning|hatch-vcs|versioneer|versioningit"
    r"|poetry-dynamic-versioning|dunamai|flit[_-]scm|pbr)\b|source\s*=\s*[\"']scm[\"']"
)


def checks(files: Files) -> Iterator[str]:
    tests = sorted(path for path in files.paths if path.endswith(".py") and named_as_test(path))
    if not tests:
        return
    named = listed("pyproject.toml; setup.cfg; tox.ini; requirements-dev.txt; requirements.txt")
    some = tests[:: max(1, len(tests) // 8)][:8]  # each read is a process of git's
    if (
        any(basename(path) in ("pytest.ini", "conftest.py") for path in files.paths)
        or any("pytest" in (files.text(name) or "") for name in named)
        or any(_PYTEST.search(files.text(name) or "") for name in some)
    ):
        yield "python3 -m pytest -q"
        return
    folder = next((one for one in ("tests", "test") if any(path.startswith(f"{one}/") for path in tests)), "")
    start = "" if not folder or f"{folder}/__init__.py" in files.paths else f" discover -s {folder}"
    yield f"python3 -m unittest{start}"


def setup(files: Files, checks: Sequence[str]) -> str:
    """Return the install, in a virtual environment of the tree."""
    lines = _from_manifests(files, checks)
    if not lines:
        return ""
    used = " ".join((*lines, *checks))
    managers = [name for name in _MANAGERS if re.search(rf"(^|[\s&]){name} ", used)]
    first = [f"python -m pip install -q {' '.join(managers)}"] if managers else []
    scm = [_NEWEST_TAG] if version_tools(lambda name: files.text(name) or "") else []
    make = [f"python3 -m venv {VENV}", f". {VENV}/bin/activate"]
    return " && ".join((*scm, *make, *first, *lines))


def _from_manifests(files: Files, checks: Sequence[str]) -> list[str]:
    content = table(files.parsed("pyproject.toml", tomllib.loads))
    poetry = "poetry install --no-interaction"
    for lock, command in (("uv.lock", "uv sync --frozen"), ("poetry.lock", poetry), ("pdm.lock", "pdm sync")):
        if lock in files.paths:
            return [command]
    if table(content, "tool", "poetry") and not content.get("project"):
        return [poetry]
    groups = [f"--group {name}" for name in table(content, "dependency-groups") if name in _GROUPS]
    extras = [name for name in table(content, "project", "optional-dependencies") if name in _GROUPS]
    requirements = sorted(
        one for one in files.paths if _REQUIREMENTS.fullmatch(one) and not _OTHER.search(one)
    )
    wanted = [f"-r {shlex.quote(path)}" for path in requirements]
    own: list[str] = []
    if "setup.py" in files.paths or content.get("project") or content.get("build-system"):
        own = ["-e", shlex.quote(f".[{','.join(extras)}]" if extras else ".")]
    read = ["pyproject.toml", "setup.cfg", "setup.py", *requirements]
    named = any(re.search(r"\bpytest\b", files.text(name) or "") for name in read)
    if any("pytest" in check for check in checks) and not named:
        wanted.append("pytest")
    # The project last: without it, if it cannot be built, tests may run from its folder.
    return [f"python -m pip install -q {' '.join(one)}" for one in (wanted + groups, own) if one]


_NEWEST_TAG = (
    'export SETUPTOOLS_SCM_PRETEND_VERSION="$(git describe --tags --abbrev=0 2>/dev/null'
    " | sed 's/^[^0-9]*//')\""
)


def version_tools(read: Callable[[str], str]) -> list[str]:
    text = "\n".join(map(read, ("pyproject.toml", "setup.cfg", "setup.py")))
    return list(dict.fromkeys(_VERSION_TOOL.findall(text)))
