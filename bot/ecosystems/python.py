"""Python."""

import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

from bot.contracts.name_patterns import is_one_of
from bot.ecosystems import python_commands, python_environments
from bot.ecosystems.checker import table
from bot.ecosystems.python_checkers import CHECKERS, FORMS, SERVERS
from bot.ecosystems.python_related import related
from bot.ecosystems.python_tests import COUNTS, RUNNERS
from bot.ecosystems.record import HOST, Action, Added, Dependencies, Ecosystem, Pin, Suite, listed, uses
from bot.ecosystems.test_files import Role, role_of

_TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec"})
# What a module at the top of the import path must not be called, the standard library apart.
_FRAMEWORKS = frozenset(
    listed("pytest; _pytest; pluggy; iniconfig; coverage; nose; nose2; mock; hypothesis; xdist")
)
_TOP = frozenset({"", "src", "lib", *_TEST_FOLDERS})


def _steers_tests(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    *folders, name = path.split("/")
    return bool(
        is_one_of("unittest*.py pytest*.py coverage.py _pytest.py", name)
        or not {"_pytest", "site-packages"}.isdisjoint(folders)
        or (is_new and _shadows(folders, name))
        or (
            is_one_of("__init__.py setup.* setup-*.*", name)
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
            if isinstance(one, str) and (match := re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*", one)):
                yield match[0]
    tables = [table(poetry, "dependencies"), table(poetry, "dev-dependencies")]
    tables += [table(poetry, "group", group, "dependencies") for group in table(poetry, "group")]
    yield from (name for names in tables for name in names if name != "python")


ECOSYSTEM = Ecosystem(
    name="python",
    manifests=listed("""
        pyproject.toml; setup.py; setup.cfg; tox.ini; noxfile.py; Pipfile; requirements.txt"""),
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
            pycodestyle; pyflakes; djlint; hatch fmt --check""",
        TYPES="mypy; pyright; basedpyright; stubtest; pyrefly; dmypy",
        TESTS="""
            pytest; py.test; unittest; nose2; nbdev-test; nbdev_test; behave; trial; coverage run; tox; nox;
            hatch test; hatch run; molecule test; molecule; python manage.py test; manage.py test""",
    ),
    scripts=listed("""
        tox -e; tox -f; tox run -e; tox run -f; nox -s; nox -e; nox --session; nox --sessions; hatch run;
        invoke; poe; pdm run; pixi run; pipenv run"""),
    launchers=listed("""
        python -m; python -Im; uv run; poetry run; pdm run; pipenv run; rye run; uvx; pipx run; coverage
        run -m; conda run; mamba run; micromamba run"""),
    values=listed("""
        -n; --name; --with; --with-requirements; --group; --extra; --python; -p; --from; --package; --only-group;
        --directory; --no-group; --env-file; -w; -e; --environment; --source"""),
    syncs=listed("uv sync; poetry sync; pdm sync; pip-sync; pipenv sync"),
    isolates=("tox", "nox", "hatch"),
    runs_no_test=re.compile(
        r"--(collect-only|co|setup-plan|fixtures|notest|listenvs?|list|version|help|install-only|markers)\b"
    ),
    checks=python_commands.checks,
    setup=python_commands.setup,
    makes=python_commands.VENV,
    relock={
        "uv.lock": "uv lock",
        "poetry.lock": "poetry lock --no-update || poetry lock",  # from 2.0 on it updates nothing by default
    },
    locks=listed("uv.lock; poetry.lock; pdm.lock; Pipfile.lock; *requirements*.txt; environment.y*ml"),
    home_packages=(".local/lib", ".cache/pre-commit"),
    home_environments=listed("""
        .cache/pypoetry/virtualenvs; .local/share/pypoetry; .local/share/virtualenvs; .local/share/pipx;
        .local/share/hatch; .local/share/uv; .local/bin; .local/venv; /opt/pipx; /opt/pipx_bin"""),
    packages=("bin", "lib/python3.*/site-packages"),
    suffixes=(".py", ".pyi"),
    test="python3 -m pytest",
    install="python3 -m venv .venv && .venv/bin/python -m pip install -e . pytest",
    egress="python",
    counts=COUNTS,
    # The caches of pip and uv are written while they are read.
    tools={".pyenv": "PYENV_ROOT", ".local/share/uv/python": "UV_PYTHON_INSTALL_DIR"},
    pins=(Pin.usual("pyenv", ".python-version"),),
    offline={"PIP_RETRIES": "0", "UV_OFFLINE": "1"},
    folders=listed(".venv; venv; env; .conda; .tox; .nox"),
    copies="An installed package is not the tree: install it with `pip install -e .`",
    servers=SERVERS,
    runners=RUNNERS,
    checkers=CHECKERS,
    forms=FORMS,
    related=related,
    bins=(".venv/bin", "venv/bin"),
    outline=dict.fromkeys((".py", ".pyi"), r"\s*(?:class|def|async\s+def)\s+\w"),
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
        manifests={
            "pyproject.toml": (tomllib.loads, _declared),
            "pipfile": (tomllib.loads, lambda data: table(data, "packages") | table(data, "dev-packages")),
        },
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
    leftovers=listed("""
        __pycache__/; *.pyc; .pytest_cache/; .mypy_cache/; .ruff_cache/; .hypothesis/;
        .tox/; .venv/"""),
    hosts=("pypi.org", "files.pythonhosted.org"),
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
    version_tools=python_commands.version_tools,
    mirror="PIP_INDEX_URL",
    build_caches=("~/.cache/mypy",),
    downloads=("~/.cache/pip", "~/.cache/uv"),
    report=python_commands.report,
    reporting={"PYTEST_ADDOPTS": "--junitxml='$TMPDIR/{report}'"},
    rerun=python_commands.rerun,
    related_command=python_commands.related_command,
    absent=(
        "No such file or directory: 'python",
        r"No module named (?:pytest|unittest)",
        r"python[\d.]*: No module named \w+$",
        "ModuleNotFoundError: No module named",
        "^error: Failed to spawn:",
        "/activate: No such file|source: filename argument required",  # `source $VENV` where no action set it
    ),
    ran=r"^Ran (\d+) tests? in ",
    moved=(
        r"/pyvenv\.cfg$|/bin/python[\d.]*$",
        (
            "a virtual environment's programs go by the place where it was made. Run them as modules of its Python "
            "(`.venv/bin/python -m pytest`)"
        ),
    ),
    installed_beside={
        "": (*python_environments.FOLDERS, ".tox", ".nox"),
        **dict.fromkeys(("pyproject.toml", "setup.py", "requirements.txt"), python_environments.FOLDERS),
    },
    environments_outside=python_environments.outside,
    environments=python_environments.FOLDERS,
    is_environment=python_environments.is_environment,
    prefixes=("conda-meta", "lib/python3.*/os.py"),
)
