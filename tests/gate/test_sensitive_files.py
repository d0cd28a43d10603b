"""What a reviewer is told of a change of what checkers look for."""

from __future__ import annotations

import pytest

from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.gate.sensitive_files import runs_tests, sensitive, set_up
from bot.gate.weaker_tests import Line
from tests.support.changed_lines import changed_lines

PYPROJECT = """\
[project]
name = "x"

[tool.ruff.lint]
select = [
    "E",
    "F",
]

[tool.coverage.report]
fail_under = 90
"""


def told(path: str, before: str, after: str) -> str:
    return set_up(path, *changed_lines(before, after), after.encode())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('    "F",\n', "", "sets up ruff anew (line 7 before)"),
        ('    "F",\n]\n', '    "F",\n]\nignore = ["F401"]\n', "sets up ruff anew (line 9)"),
        ("fail_under = 90", "fail_under = 10", "sets up coverage anew (line 11)"),
        (
            "\n[tool.coverage.report]\nfail_under = 90\n",
            "",
            "sets up coverage anew (lines 10, 11 before)",
        ),
        (
            'name = "x"\n',
            'name = "y"\n\n[tool.mypy]\nignore_errors = true\n',
            "sets up mypy anew (lines 4, 5)",
        ),
        ('name = "x"', 'name = "y"', ""),
        ("[tool.ruff.lint]\n", "[tool.ruff.lint]\n# why\n\n", ""),
    ],
)
def test_settings_in_pyproject_are_named_with_their_lines(old: str, new: str, said: str) -> None:
    assert old in PYPROJECT
    assert told("lib/pyproject.toml", PYPROJECT, PYPROJECT.replace(old, new)) == said


@pytest.mark.parametrize(
    ("path", "before", "after", "said"),
    [
        ("setup.cfg", "[mypy]\nstrict = true", "[mypy]", "sets up mypy anew (line 2 before)"),
        ("tox.ini", "[testenv]\na=1", "[testenv]\na=2", ""),
        ("tox.ini", "[flake8]", "[flake8]\nignore = E", "sets up flake8 anew (line 2)"),
        ("Cargo.toml", "[lints.clippy]\nall = 1", "[lints.clippy]\nall = 2", "sets up lints anew (line 2)"),
        ("package.json", '{\n  "a": 1\n}', '{\n  "nyc": {},\n  "a": 1\n}', "sets up nyc anew"),
        ("package.json", '{\n  "eslintConfig": {}\n}', "{\n}", "sets up eslintConfig anew"),
        ("package.json", "{}", '{\n  "version": "2"\n}', ""),
        ("notes.toml", "[tool.ruff]", "[tool.ruff]\nx = 1", ""),
    ],
)  # fmt: skip
def test_settings_in_other_shared_files_are_named(path: str, before: str, after: str, said: str) -> None:
    assert told(path, before, after) == said


def test_a_section_from_which_all_is_taken_is_read_from_the_old_file() -> None:
    before = "[tool.ruff]\na = 1\nb = 2\n[tool.mypy]\nc = 3\n"
    assert told("pyproject.toml", before, "") == (
        "sets up ruff anew (lines 1, 2, 3 before), sets up mypy anew (lines 4, 5 before)"
    )


def test_a_deleted_or_enormous_file_says_nothing() -> None:
    removed, added = changed_lines("[tool.ruff]\n", "")
    assert set_up("pyproject.toml", removed, added, None) == ""
    assert set_up("pyproject.toml", added, removed, b"[tool.ruff]\n" * 50_000) == ""


CONFIGURATION = [
    "ruff.toml", "web/tsconfig.json", "tsconfig.build.json", "mypy.ini", ".coveragerc", ".golangci.yml",
    ".cargo/config.toml", ".mvn/extensions.xml", "mise.toml", ".bazelrc", ".yarnrc.yml", ".envrc", ".tool-versions",
    "Dockerfile", "docker/Dockerfile.dev", "docker/dev.dockerfile", "GNUmakefile", "justfile", "Vagrantfile",
    "Brewfile", "ios/Podfile", "BUILD", "WORKSPACE.bazel", "src/CMakeLists.txt", "meson.build", "rules.mk",
    "vite.config.ts", "web/next.config.mjs", "karma.conf.js", "webpack.mix.js", "gulpfile.js", "noxfile.py",
    "build.rs", "build.xml", "docs/conf.py", "turbo.json", "nx.json", "lerna.json", "sonar-project.properties",
    "gradle/libs.versions.toml", "ansible.cfg", "config/database.yml", "deploy/values.yaml", "infra/main.tf",
    "docker-compose.dev.yml", "compose.yaml", "flake.nix", "serverless.yml", "mkdocs.yml", "_config.yml", "runtime.txt",
    "tests/.hidden/x.py", ".changeset/a.md", ".editorconfig", ".nvmrc", ".python-version", ".dockerignore",
    ".\u200bprettierrc", "\uff0eprettierrc", "Ruff.TOML", "pylintrc", "nginx.conf",
    "Directory.Build.props",
    "settings.newformat", "bin/tool", ".gitignore", "security.toml", "docs/mkdocs.yml",
]  # fmt: skip


@pytest.mark.parametrize("path", CONFIGURATION)
def test_a70_a_file_that_may_set_something_up_is_named(path: str) -> None:
    """A-70: no list has its name."""
    assert sensitive(path) == "configuration"


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py", "main.go", "index.js", "lib/setup_helpers.rb", "README", "README.md", "LICENSE.txt", "COPYING",
        "CHANGELOG.md", "LICENSE-MIT", "docs/guide.rst", "src/data/x.json", "tests/data/x.yml", "logo.svg",
        "tests/fixtures/Makefile",
        "src/locales/de.yml", "schema.sql", "src/x.test.ts", "scripts/run.sh", "profile.py",
        "templates/page.html.j2", "web/public/manifest.json", "i18n/de.po", "src/configure.py",
    ],
)  # fmt: skip
def test_code_documents_and_data_are_not(path: str) -> None:
    assert sensitive(path) == ""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("pyproject.toml", "dependency manifest"), ("web/package-lock.json", "lock file"), ("ci/deploy.sh", "CI"),
        ("requirements/dev.txt", "dependency manifest"), ("action.yml", "CI"), ("netlify.toml", "CI"),
    ],
)  # fmt: skip
def test_manifests_and_ci_are_named_as_such(path: str, kind: str) -> None:
    assert sensitive(path) == kind


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py", "tests/conftest.py", "lib/evil.pth", "sitecustomize.py", "src/usercustomize.py", "unittest.py",
        "tests/unittest_plugin.py", "pytest_plugin.py", "coverage.py", "_pytest/assertion.py", "json.py",
        "src/random.py", "tests/typing.py", "hypothesis/__init__.py",
        "tests/__init__.py", "tests/unit/__init__.py", "test/setup.ts",
        "tests/setup-env.js", "jest.config.js", "web/vitest.config.ts", ".mocharc.json", "node_modules/jest/index.js",
    ],
)  # fmt: skip
def test_a67_what_can_change_what_tests_report_is_named_by_its_path(path: str) -> None:
    assert runs_tests(path, (), b"x\n", is_new=True) == CAN_CHANGE_TESTS


@pytest.mark.parametrize(
    ("path", "line", "content"),
    [
        ("pkg/a_test.go", "", b"package a\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"),
        ("cargo.toml", "harness = false", b"x"),
        ("package.json", '  "setupFiles": ["./a.js"],', b"x"),
    ],
)
def test_a67_or_by_what_is_in_it(path: str, line: str, content: bytes) -> None:
    assert runs_tests(path, [Line(1, line.encode())], content, is_new=False) == CAN_CHANGE_TESTS


@pytest.mark.parametrize(
    ("path", "content", "is_new"),
    [
        ("tests/__init__.py", b"\n", True),
        ("src/app/types.py", b"x", True),
        ("json.py", b"x", False),
        ("test/__init__.py", b"", True),
        ("tests/test_json.py", b"x", True),
        ("src/setup.ts", b"x", True),
        ("a_test.go", b"package a\n// TestMain\n", True),
        ("cargo.toml", b"[[bench]]\nharness = false\n", False),
        ("src/app/__init__.py", b"x", True),
    ],
)
def test_an_ordinary_module_is_not_taken_for_a_runner(path: str, content: bytes, is_new: bool) -> None:
    assert runs_tests(path, (), content, is_new=is_new) == ""
