"""What a reviewer is told of a change of what checkers look for."""

import pytest

from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.gate.flagged_files import runs_tests, sensitive, set_up
from bot.gate.weaker_tests import Line

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


@pytest.mark.parametrize(
    ("old", "new", "tools"),
    [
        ('    "F",\n', "", "ruff"),
        ('    "F",\n]\n', '    "F",\n]\nignore = ["F401"]\n', "ruff"),
        ("fail_under = 90", "fail_under = 10", "coverage"),
        ("\n[tool.coverage.report]\nfail_under = 90\n", "", "coverage"),
        ('name = "x"\n', 'name = "y"\n\n[tool.mypy]\nignore_errors = true\n', "mypy"),
        ('name = "x"', 'name = "y"', ""),
        ("[tool.ruff.lint]\n", "[tool.ruff.lint]\n# why\n\n", ""),
    ],
)
def test_settings_in_pyproject_are_named(old: str, new: str, tools: str):
    assert old in PYPROJECT
    note = set_up("lib/pyproject.toml", PYPROJECT.encode(), PYPROJECT.replace(old, new).encode())
    assert note == (f"sets up {tools} anew" if tools else "")


@pytest.mark.parametrize(
    ("path", "before", "after", "tools"),
    [
        ("setup.cfg", "[mypy]\nstrict = true", "[mypy]", "mypy"),
        ("tox.ini", "[testenv]\na=1", "[testenv]\na=2", ""),
        ("tox.ini", "[flake8]", "[flake8]\nignore = E", "flake8"),
        ("Cargo.toml", "[lints.clippy]\nall = 1", "[lints.clippy]\nall = 2", "lints"),
        ("package.json", '{\n  "a": 1\n}', '{\n  "nyc": {},\n  "a": 1\n}', "nyc"),
        ("package.json", '{\n  "eslintConfig": {}\n}', "{\n}", "eslintConfig"),
        ("package.json", "{}", '{\n  "version": "2"\n}', ""),
        ("notes.toml", "[tool.ruff]", "[tool.ruff]\nx = 1", ""),
        ("pyproject.toml", "[tool.ruff]\na = 1\nb = 2\n[tool.mypy]\nc = 3\n", "", "ruff, mypy"),
        ("pyproject.toml", "", "[tool.ruff]\n" * 50_000, ""),
    ],
)
def test_settings_in_other_shared_files_are_named(path: str, before: str, after: str, tools: str):
    assert set_up(path, before.encode(), after.encode()) == (f"sets up {tools} anew" if tools else "")
    assert set_up(path, before.encode(), None) == ""


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
    "Directory.Build.props", "buildSrc/src/x.gradle.kts",
    "settings.newformat", "bin/tool", ".gitignore", "security.toml", "docs/mkdocs.yml",
]  # fmt: skip


@pytest.mark.parametrize("path", CONFIGURATION)
def test_a70_a_file_that_may_set_something_up_is_named(path: str):
    """A-70: no list has its name."""
    assert sensitive(path) == "configuration"


@pytest.mark.parametrize(
    "path",
    [
        "src/app.py", "main.go", "index.js", "lib/setup_helpers.rb", "README", "README.md", "LICENSE.txt", "COPYING",
        "CHANGELOG.md", "LICENSE-MIT", "docs/guide.rst", "src/data/x.json", "tests/data/x.yml", "logo.svg",
        "tests/fixtures/Makefile",
        "src/locales/de.yml", "schema.sql", "src/x.test.ts", "scripts/run.sh", "profile.py",
        "templates/page.html.j2", "web/public/manifest.json", "i18n/de.po", "src/configure.py", "src/app.gleam",
        "core/main.odin",
    ],
)  # fmt: skip
def test_code_documents_and_data_are_not(path: str):
    assert sensitive(path) == ""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("pyproject.toml", "dependency manifest"), ("web/package-lock.json", "lock file"), ("ci/deploy.sh", "CI"),
        ("requirements/dev.txt", "dependency manifest"), ("action.yml", "CI"), ("netlify.toml", "CI"),
    ],
)  # fmt: skip
def test_manifests_and_ci_are_named_as_such(path: str, kind: str):
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
def test_a67_what_can_change_what_tests_report_is_named_by_its_path(path: str):
    assert runs_tests(path, (), b"x\n", is_new=True) == CAN_CHANGE_TESTS


@pytest.mark.parametrize(
    ("path", "line", "content"),
    [
        ("pkg/a_test.go", "", b"package a\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"),
        ("cargo.toml", "harness = false", b"x"),
        ("package.json", '  "setupFiles": ["./a.js"],', b"x"),
    ],
)
def test_a67_or_by_what_is_in_it(path: str, line: str, content: bytes):
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
def test_an_ordinary_module_is_not_taken_for_a_runner(path: str, content: bytes, is_new: bool):
    assert runs_tests(path, (), content, is_new=is_new) == ""
