"""Python."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bot.contracts.name_patterns import is_one_of
from bot.ecosystems import python_commands, python_environments
from bot.ecosystems.checker import table
from bot.ecosystems.place import Place
from bot.ecosystems.python_checkers import CHECKERS, FORMS
from bot.ecosystems.python_outline import definitions
from bot.ecosystems.python_related import related
from bot.ecosystems.python_tests import RUNNERS
from bot.ecosystems.record import (
    HOST,
    Action,
    Added,
    Dependencies,
    Ecosystem,
    Files,
    Launch,
    Pin,
    Server,
    Setup,
    Suite,
    uses,
)
from bot.ecosystems.suite_files import Role, named_as_test, role_of

VENV = ".venv"
_MANAGERS = ("uv", "poetry", "pdm", "pipenv", "hatch", "tox", "nox")
_GROUPS = ("test", "tests", "testing", "dev", "develop")
_REQUIREMENTS = re.compile(r"(requirements/)?[\w-]*(requirements|dev|test|tests|testing)[\w-]*\.txt")
_VERSION_TOOLS = {
    "setuptools-scm": (
        r"setuptools[_-]scm|use_scm_version|vcs[_-]versioning|setuptools-git-versioning|source\s*=\s*[\"']scm[\"']"
    ),
    "hatch-vcs": r"hatch-vcs|\[tool\.hatch\.version\][^\[]*source\s*=\s*[\"']vcs",
    "versioneer": r"\bversioneer\b",
    "poetry-dynamic-versioning": "poetry-dynamic-versioning",
    **{name: rf"\b{name.replace('-', '[-_]')}\b" for name in ("versioningit", "dunamai", "flit-scm", "pbr")},
}


def _checks(files: Files) -> Iterator[str]:
    tests = sorted(path for path in files.paths if path.endswith(".py") and named_as_test(path))
    if not tests:
        return
    if any(path.rpartition("/")[2] in ("pytest.ini", "conftest.py") for path in files.paths) or _uses_pytest(
        tests, files
    ):
        yield "python3 -m pytest -q"
        return
    folder = next((one for one in ("tests", "test") if any(path.startswith(f"{one}/") for path in tests)), "")
    start = "" if not folder or f"{folder}/__init__.py" in files.paths else f" discover -s {folder}"
    yield f"python3 -m unittest{start}"


def _uses_pytest(tests: Sequence[str], files: Files) -> bool:
    named = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements-dev.txt", "requirements.txt")
    some = tests[:: max(1, len(tests) // 8)][:8]  # each read is a process of git's
    return any("pytest" in (files.text(name) or "") for name in named) or any(
        "import pytest" in (files.text(name) or "") for name in some
    )


def _setup(files: Files, checks: Sequence[str]) -> Setup | None:
    """Return the install, in a virtual environment of the tree."""
    lines = _from_manifests(files, checks)
    if not lines:
        return None
    used = " ".join((*lines, *checks))
    managers = [name for name in _MANAGERS if re.search(rf"(^|[\s&]){name} ", used)]
    first = [f"python -m pip install -q {' '.join(managers)}"] if managers else []
    scm = [_NEWEST_TAG] if version_tools(lambda name: files.text(name) or "") else []
    make = [f"python3 -m venv {VENV}", f". {VENV}/bin/activate"]
    return Setup(" && ".join((*scm, *make, *first, *lines)), ("python",), VENV)


def _from_manifests(files: Files, checks: Sequence[str]) -> list[str]:
    content = table(files.parsed("pyproject.toml", tomllib.loads))
    for lock, command in (
        ("uv.lock", "uv sync --frozen"),
        ("poetry.lock", "poetry install --no-interaction"),
        ("pdm.lock", "pdm sync"),
    ):
        if lock in files.paths:
            return [command]
    if table(content, "tool", "poetry") and not content.get("project"):
        return ["poetry install --no-interaction"]
    groups = [f"--group {name}" for name in table(content, "dependency-groups") if name in _GROUPS]
    extras = [name for name in table(content, "project", "optional-dependencies") if name in _GROUPS]
    wanted = [
        f"-r {shlex.quote(path)}"
        for path in sorted(files.paths)
        if _REQUIREMENTS.fullmatch(path) and "doc" not in path
    ]
    if "setup.py" in files.paths or content.get("project") or content.get("build-system"):
        project = f".[{','.join(extras)}]" if extras else "."
        wanted.insert(0, f"-e {shlex.quote(project)}")
    texts = (
        files.text(name) or "" for name in ("pyproject.toml", "setup.cfg", "setup.py", *_read_by(wanted))
    )
    if any("pytest" in check for check in checks) and not any(
        re.search(r"\bpytest\b", text) for text in texts
    ):
        wanted.append("pytest")
    return [f"python -m pip install -q {' '.join((*wanted, *groups))}"] if wanted or groups else []


def _read_by(wanted: Sequence[str]) -> list[str]:
    return [shlex.split(one)[1] for one in wanted if one.startswith("-r ")]


_NEWEST_TAG = (
    'export SETUPTOOLS_SCM_PRETEND_VERSION="$(git describe --tags --abbrev=0 2>/dev/null'
    " | sed 's/^[^0-9]*//')\""
)


def version_tools(read: Callable[[str], str]) -> list[str]:
    text = "\n".join(map(read, ("pyproject.toml", "setup.cfg", "setup.py")))
    return [tool for tool, sign in _VERSION_TOOLS.items() if re.search(sign, text)]


_FILES = {".py": "python", ".pyi": "python"}
# Syntax errors, misplaced statements, undefined names: reported in any project.
_RUFF_FATAL = ("E9", "F63", "F7", "F82")


def _ty(place: Place) -> Launch | str:
    """Only if the project uses it: other projects break its strict rules by the hundred."""
    if not (place.configured or place.uses("ty")):
        return ""
    program = place.bundled("ty") or place.in_project("ty") or place.on_path("ty")
    if not program:
        return "it is not installed"
    # ty looks for an environment only beside the settings; several projects may share one above them.
    in_the_project = next((str(folder) for folder in place.environments()), "")
    environment = place.environment.get("VIRTUAL_ENV", "") or in_the_project
    marker = place.above("ty.toml", "pyproject.toml")
    variables = {"VIRTUAL_ENV": environment} if environment else {}
    return Launch((program, "server"), root=marker and marker.parent, variables=variables)


def _ruff(place: Place) -> Launch | str:
    program = place.bundled("ruff") or place.in_project("ruff") or place.on_path("ruff")
    if not program:
        return "it is not installed"
    # Without a configuration ruff would enable hundreds of rules that the project does not use.
    select = ["E9", "F"] if place.uses("ruff") else list(_RUFF_FATAL)
    options = None if place.has_settings("ruff") else {"settings": {"lint": {"select": select}}}
    return Launch((program, "server"), options)


_FRAMEWORK_FILES = "unittest*.py pytest*.py coverage.py _pytest.py"
_HELPERS = "__init__.py setup.* setup-*.*"
_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})
# What a module at the top of the import path must not be called, the standard library apart.
_FRAMEWORKS = frozenset(
    {"pytest", "_pytest", "pluggy", "iniconfig", "coverage", "nose", "nose2", "mock", "hypothesis", "xdist"}
)
_TOP = frozenset({"", "src", "lib", *_TEST_FOLDERS})


def _steers_tests(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    *folders, name = path.split("/")
    return bool(
        is_one_of(_FRAMEWORK_FILES, name)
        or not {"_pytest", "site-packages"}.isdisjoint(folders)
        or (is_new and _shadows(folders, name))
        or (
            is_one_of(_HELPERS, name)
            and (content is None or content.strip())
            and role_of(path) in (Role.TEST, Role.DATA)
        )
    )


def _shadows(folders: list[str], name: str) -> bool:
    """Whether an import of a test framework or of the standard library may load this file instead."""
    if name == "__init__.py" and folders:
        *folders, module = folders
    else:
        module, _, suffix = name.partition(".")
        if suffix not in ("py", "so", "pyc"):
            return False
    at_top = len(folders) < 2 and (folders[0] if folders else "") in _TOP
    return at_top and module in (sys.stdlib_module_names | _FRAMEWORKS) - _TEST_FOLDERS


_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _declared(data: Any) -> Iterator[str]:
    project, poetry = table(data, "project"), table(data, "tool", "poetry")
    listed = [
        project.get("dependencies"),
        table(data, "build-system").get("requires"),
        *table(project, "optional-dependencies").values(),
        *table(data, "dependency-groups").values(),
        table(data, "tool", "uv").get("dev-dependencies"),
        *table(data, "tool", "pdm", "dev-dependencies").values(),
    ]
    for requirements in listed:
        for one in requirements if isinstance(requirements, list) else ():
            if isinstance(one, str) and (match := _REQUIREMENT.match(one)):
                yield match[0]
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [table(poetry, "group", group, "dependencies") for group in table(poetry, "group")]
    yield from (name for names in tables for name in names if name != "python")


def _in_pipfile(data: Any) -> Iterator[str]:
    yield from (*table(data, "packages"), *table(data, "dev-packages"))


ECOSYSTEM = Ecosystem(
    name="python",
    manifests=(
        "pyproject.toml",
        "setup.py",
        "setup.cfg",
        "tox.ini",
        "noxfile.py",
        "Pipfile",
        "requirements.txt",
    ),
    uses=uses(
        NONE="""
            ruff format; pip; black; isort; poetry publish; hatch version; hatch publish; pdm publish;
            uv publish; uv build; coverage report""",
        INSTALL="""
            pip install; uv sync; uv venv; uv tool; uv python; uv pip; uv lock; poetry install; poetry sync;
            poetry config; poetry self; poetry env; poetry lock; pdm install; pdm sync; pdm use; pipenv install;
            pipenv sync; hatch env; rye sync; conda; pipx install; pipx; virtualenv; venv; pip-sync; ensurepip""",
        BUILD="python setup.py; maturin develop; meson-python",
        LINT="""
            black --check; black --diff; isort --check; isort --check-only; isort -c; ruff format --check;
            ruff check; ruff; flake8; pylint; pydocstyle; bandit; vulture; rstcheck; interrogate; ty;
            pycodestyle; pyflakes; djlint""",
        TYPES="mypy; pyright; basedpyright; stubtest; pyrefly; dmypy",
        TESTS="""
            pytest; py.test; unittest; nose2; nbdev-test; nbdev_test; behave; trial; coverage run; tox; nox;
            hatch test; hatch run; molecule test; molecule""",
    ),
    scripts=("tox -e", "tox run -e", "nox -s", "hatch run", "invoke", "poe", "pdm run", "pixi run"),
    launchers=(
        "python -m",
        "uv run",
        "poetry run",
        "pdm run",
        "pipenv run",
        "rye run",
        "uvx",
        "pipx run",
        "coverage run -m",
    ),
    values=frozenset(
        [
            "--with",
            "--group",
            "--extra",
            "--python",
            "-p",
            "--from",
            "--package",
            "--only-group",
            "--directory",
            "--no-group",
            "--env-file",
            "-w",
            "-e",
            "--environment",
            "--source",
        ]
    ),
    runs_no_test=re.compile(
        r"--(collect-only|co|setup-plan|fixtures|notest|listenvs?|list|version|help|install-only|markers)\b"
    ),
    checks=_checks,
    setup=_setup,
    locks=("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "*requirements*.txt", "environment.y*ml"),
    kept=(".local/lib", ".cache/pre-commit"),
    installed=(
        ".cache/pypoetry/virtualenvs",
        ".local/share/virtualenvs",
        ".local/share/pipx",
        ".local/share/uv",
        ".local/bin",
    ),
    packages=("bin", "lib/python3.*/site-packages"),
    suffixes=(".py", ".pyi"),
    test="python3 -m pytest",
    install="python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest",
    egress="python",
    counts=(
        r"(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed, (?P<skipped>\d+) skipped.*",
        r"(PASSED|FAILED) \((failures=(?P<failed>\d+), )?(errors=(?P<errors>\d+), )?successes=(?P<passed>\d+)\)",
    ),
    # The caches of pip and uv are written while they are read.
    tools={".pyenv": "PYENV_ROOT", ".local/share/uv/python": "UV_PYTHON_INSTALL_DIR"},
    pins=(
        Pin(
            "pyenv",
            ".python-version",
            ".pyenv/shims",
            ".pyenv/versions",
            "PYENV_VERSION",
            "pyenv install {version}",
        ),
    ),
    offline={"PIP_RETRIES": "0", "UV_OFFLINE": "1"},
    folders=(".venv", "venv", "env", ".conda", ".tox", ".nox"),
    copies="An installed package is not the tree: install it with `pip install -e .`",
    servers=(
        Server("ty", _FILES, _ty, commands=("ty server",), missing=frozenset({"import-not-found"})),
        Server("ruff", _FILES, _ruff, {"RUFF_CACHE_DIR": "{tmp}/ruff"}, ("ruff server",)),
    ),
    runners=RUNNERS,
    checkers=CHECKERS,
    forms=FORMS,
    related=related,
    bins=(".venv/bin", "venv/bin"),
    formats={
        "poetry.lock": "TOML",
        "uv.lock": "TOML",
        "pdm.lock": "TOML",
        "pipfile": "TOML",
        "pipfile.lock": "JSON",
    },
    outline=dict.fromkeys((".py", ".pyi"), r"\s*(?:class|def|async\s+def)\s+\w"),
    definitions=definitions,
    suites=(
        Suite(
            suffixes="py pyi",
            tests="test_* test[0-9A-Z]* *_test *_tests test tests",
            settings="""
                conftest.py sitecustomize.py usercustomize.py *.pth pytest.ini .pytest.ini pytest.toml
                .pytest.toml""",
            mixed="pyproject.toml setup.cfg tox.ini noxfile.py",
            inside=r"^[ \t]*>>> .*(?:\n(?![ \t]*\n).*)*",
            optional=True,
            collected_by_name=True,
            assertion=r"^\s*assert\b|\b(?:assert\w+|fail|raises|warns)\s*\(|^\s*raise AssertionError",
            skip=(
                r"\b(?:skip|skipif|skipIf|skipUnless|skipTest|importorskip|xfail|expectedFailure)\b"
                r"|\b__test__\s*=\s*False|\bcollect_ignore"
            ),
            test=r"^\s*(?:async\s+)?def\s+(test\w*)",
            hash_comments=True,
        ),
    ),
    steers_tests=_steers_tests,
    dependencies=Dependencies(
        manifests={"pyproject.toml": (tomllib.loads, _declared), "pipfile": (tomllib.loads, _in_pipfile)},
        sources={"pylock*.toml": rf".*?\b(?:index|url){HOST}"},
        settings="uv.toml pyproject.toml poetry.toml pdm.toml pipfile .condarc setup.cfg",
        usual="pypi.org files.pythonhosted.org https://pypi.org/simple",
        lists=(
            # By names that pip-tools, pip and uv suggest: `.in` alone is a template of anything.
            (
                r"(?:.*/)?(?:requirements[^/]*/.+\.(?:txt|in)|(?:[^/]*requirements|constraints)[^/]*\.(?:txt|in)"
                r"|(?:all|base|ci|common|dev|develop|development|docs?|lint|local|main|prod|production|tests?|testing)\.in)"
            ),
            r"(?:-e\s+)?(git\+\S+|https?://\S+)|([A-Za-z0-9][A-Za-z0-9._-]*)(?=\s*(?:$|[=<>!~;@\[# ]))",
            r"\s*(?:--(?:extra-)?index-url|--find-links|--trusted-host|-i|-f)[ =]\s*(\S+)",
        ),
    ),
    sensitive={
        "dependency manifest": """
            pyproject.toml setup.py setup.cfg pipfile environment.yml environment.yaml uv.toml poetry.toml
            pdm.toml .condarc""",
        "lock file": "poetry.lock pdm.lock uv.lock pylock*.toml requirements.lock pipfile.lock",
        "configuration": "noxfile.py fabfile.py dodo.py conf.py",
    },
    sections=dict.fromkeys(
        ("pyproject.toml", "setup.cfg", "tox.ini"),
        r"(?:tool[.:])?\"?(ruff|mypy|ty|pyright|basedpyright|pylint|flake8|coverage|pytest|bandit|pyre|vulture)\b",
    ),
    leftovers=(
        "__pycache__/",
        "*.pyc",
        ".pytest_cache/",
        ".mypy_cache/",
        ".ruff_cache/",
        ".hypothesis/",
        ".tox/",
        ".venv/",
    ),
    hosts=("pypi.org", "files.pythonhosted.org"),
    runs={
        **dict.fromkeys(("poetry", "pdm", "hatch", "conda", "mamba", "coverage"), "run"),
        **dict.fromkeys(("pip", "virtualenv"), "--python -p --editor"),
        "uv": "run tool --python -p --editor",
        "pipenv": "run shell",
        "pyenv": "exec shell",
        "mypy": "--python-executable",
        "pyright": "--pythonpath -p --project",
        "pylint": "--init-hook --load-plugins",
    },
    interpreters=("python3", "python"),
    also_read=("requirements-dev.txt",),
    actions={
        "actions/setup-python": Action(
            "5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0", "python-version architecture"
        ),
        "astral-sh/setup-uv": Action(
            "c771a70e6277c0a99b617c7a806ffedaca235ff9 # v9.0.0",
            "version python-version",
            {"enable-cache": "false"},
        ),
    },
    bundled=("ruff", "ty"),
    settings={
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_PROGRESS_BAR": "off",
        "PYTHONUNBUFFERED": "1",
        "TQDM_DISABLE": "1",
    },
    online={"PIP_ONLY_BINARY": ":all:"},
    authorities=("REQUESTS_CA_BUNDLE", "PIP_CERT"),
    version_tools=version_tools,
    index="PIP_INDEX_URL",
    build_caches=("~/.cache/mypy",),
    downloads=("~/.cache/pip", "~/.cache/uv"),
    report=python_commands.report,
    reporting={"PYTEST_ADDOPTS": "--junitxml='$TMPDIR/{report}'"},
    rerun=python_commands.rerun,
    selects=python_commands.selects,
    related_command=python_commands.related_command,
    absent=(
        "No such file or directory: 'python",
        r"No module named (?:pytest|unittest)",
        r"python[\d.]*: No module named \w+$",
        "ModuleNotFoundError: No module named",
        "^error: Failed to spawn:",
    ),
    ran=r"^Ran (\d+) tests? in ",
    importers=r"python[\d.]*|pytest|py\.test|tox|nox|mypy|pyright|unittest|coverage|hatch|poetry|pdm|uv|behave|invoke",
    moved=(
        r"/pyvenv\.cfg$|/bin/python[\d.]*$",
        (
            "a virtual environment's programs go by the place where it was made. Run them as modules of its Python "
            "(`.venv/bin/python -m pytest`)"
        ),
    ),
    measures=r"--cov(?!-)|coverage\s+run",
    measured={
        ".coveragerc": "",
        "pyproject.toml": r"(?m)^\s*\[tool\.coverage\b|--cov\b",
        **dict.fromkeys(("setup.cfg", "tox.ini"), r"(?m)^\[coverage:|--cov\b"),
        "pytest.ini": r"--cov\b",
    },
    installed_beside={
        "": (*python_environments.FOLDERS, ".tox", ".nox"),
        **dict.fromkeys(("pyproject.toml", "setup.py", "requirements.txt"), python_environments.FOLDERS),
    },
    environments_outside=python_environments.outside,
    environments=python_environments.FOLDERS,
    is_environment=python_environments.is_environment,
    prefixes=("conda-meta", "lib/python3.*/os.py"),
)
