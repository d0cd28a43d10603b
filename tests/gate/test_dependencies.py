"""New dependencies, manifest by manifest: what a reviewer is told of a change to one."""

from collections.abc import Iterator

import pytest

from bot.contracts.outcome import CAN_CHANGE_TESTS
from bot.gate.dependencies import new_dependencies, new_sources
from bot.gate.flagged_files import runs_tests, sensitive, set_up
from bot.gate.weaker_tests import Line
from bot.parsing.parser import Parser
from tests.support.changed_lines import changed_lines

PYPROJECT = """\
[build-system]
requires = ["hatchling"]

[project]
name = "invoices"
dependencies = [
  "httpx>=0.27",
]

[tool.ruff]
lint.select = ["E", "F"]
"""
PACKAGE = (
    '{\n "name": "x",\n "scripts": {"test": "jest"},\n "dependencies": {\n  "left-pad": "1.0.0"\n }\n}\n'
)
CARGO = '[package]\nname = "x"\nversion = "0.1.0"\n\n[dependencies]\nserde = "1"\n'
POETRY = """\
[tool.poetry.dependencies]
python = "^3.11"
rich = "*"
[tool.poetry.group.d.dependencies]
rope = {git = "x"}
"""

UNKNOWN = "may add dependencies, which are not known: "
CASES = {
    "a new requirement": ("requirements-dev.txt", "pytest==8\n", "pytest==8\nrequests[socks]>=2 # why\n",
                          "adds the dependency requests"),
    "a raised version": ("requirements.txt", "pytest==8\n", "pytest==9\n", ""),
    "an address": ("requirements.txt", "", "git+https://evil.test/x.git\n-e git+https://evil.test/y\n",
                   "adds 2 dependencies: git+https://evil.test/x.git, git+https://evil.test/y"),
    "options and comments": ("requirements.txt", "", "# pytest\n-r other.txt\n--hash=sha256:0\n", ""),
    "an item of pyproject": ("pyproject.toml", PYPROJECT,
                             PYPROJECT.replace('",\n]', '",\n  "Left.Pad[all] ~= 1; os_name != \'x\'",\n]'),
                             "adds the dependency Left.Pad"),
    "a group of pyproject": ("a/pyproject.toml", PYPROJECT,
                             PYPROJECT + '[dependency-groups]\ndev = ["nose", {include-group = "x"}]\n',
                             "adds the dependency nose"),
    "poetry": ("pyproject.toml", "", POETRY, "adds 2 dependencies: rich, rope"),
    "a rule of a linter": ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"F"', '"F", "httpx2"'), ""),
    "a raised version of pyproject": ("pyproject.toml", PYPROJECT, PYPROJECT.replace("0.27", "0.28"), ""),
    "npm": ("web/package.json", PACKAGE, PACKAGE.replace('"1.0.0"', '"1.0.0",\n  "@evil/pad": "latest"'),
            "adds the dependency @evil/pad"),
    "a script of npm": ("package.json", PACKAGE, PACKAGE.replace("jest", "vitest"), ""),
    "a scope that another package has, too": ("package.json", PACKAGE,
        PACKAGE.replace('"left-pad": "1.0.0"', '"left-pad": "1.0.0", "pad": "1"'), "adds the dependency pad"),
    "cargo": ("Cargo.toml", CARGO, CARGO + 'rand = { version = "0.8" }\n[target.unix.dev-dependencies]\nnix = "1"\n',
              "adds 2 dependencies: rand, nix"),
    "go": ("go.mod", "module x\n", "module x\n\nrequire (\n\tgithub.com/a/b v1.2.3\n)\n",
           "adds the dependency github.com/a/b"),
    "a lock of npm": ("package-lock.json", "{\n", '{\n  "node_modules/@a/b": {\n  "node_modules/a/node_modules/c": {\n',
                      "pins the new package @a/b"),
    "a lock of uv": ("uv.lock", '[[package]]\nname = "a"\n', '[[package]]\nname = "a"\n\n[[package]]\nname = "b"\n',
                     "pins the new package b"),
    "a lock of yarn": ("yarn.lock", "", '"@a/b@^1":\n  version "1"\n', "pins the new package @a/b"),
    "a lock of pnpm": ("pnpm-lock.yaml", "", "packages:\n  '@a/b@1.0.0':\n  c@2.0.0:\n",
                       "pins 2 new packages: @a/b, c"),
    "go.sum": ("go.sum", "", "github.com/a/b v1.0.0 h1:x=\ngithub.com/a/b v1.0.0/go.mod h1:y=\n",
               "pins the new package github.com/a/b"),
    "many": ("requirements.txt", "", "".join(f"p{n}\n" for n in range(12)),
             "adds 12 dependencies: p0, p1, p2, p3, p4, p5, p6, p7 and 4 more"),
    "any other file": ("notes.txt", "", "requests==2\n", ""),
    "not TOML": ("pyproject.toml", "", "[[[[ dependencies",
                 f"{UNKNOWN}Invalid initial character for a key part (at line 1, column 3)"),
    "too deep": ("package.json", "", '{"dependencies":' + "[" * 51 + "]" * 51 + "}",
                 f"{UNKNOWN}it is nested over 50 levels deep"),
    "a byte order mark": ("package.json", "", "\ufeff" + PACKAGE, "adds the dependency left-pad"),
    "a list where a table should be": ("package.json", "", '{"dependencies": ["a"]}', ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser(60) as started:
        yield started


@pytest.mark.parametrize("name", CASES)
def test_what_a_change_brings_in_is_named(name: str, parser: Parser):
    path, before, after, expected = CASES[name]
    removed, added = changed_lines(before, after)
    assert new_dependencies(path, removed, added, after.encode(), parser) == expected


def test_a_deleted_manifest_brings_nothing_in(parser: Parser):
    removed, _ = changed_lines("requests\n", "")
    assert new_dependencies("requirements.txt", removed, [], None, parser) == ""


def test_a_name_of_any_length_stays_short_and_a_huge_manifest_is_not_parsed(parser: Parser):
    _, added = changed_lines("", "a" * 10_000 + "\n")
    assert len(new_dependencies("requirements.txt", [], added, b"a", parser)) < 120
    huge = ('{"dependencies": {"a": "1"}}' + " " * (1 << 20)).encode()
    note = new_dependencies("package.json", [], [Line(1, huge)], huge, parser)
    assert note == f"{UNKNOWN}it has over 1,048,576 characters"


SOURCES = {
    "pip's index": ("requirements/base.txt", "", "--index-url https://me:pw@evil.test/simple\n",
                    "fetches packages from https://evil.test/simple"),
    "pip's second index": ("dev.in", "", "--extra-index-url=https://evil.test/s\n", "fetches packages from https://evil.test/s"),
    "pip's links": ("requirements.in", "", "-f ./wheels\n", "fetches packages from ./wheels"),
    "uv": ("uv.toml", "", 'index-url = "https://evil.test/simple"\n', "fetches packages from https://evil.test/simple"),
    "an index of uv": ("pyproject.toml", "", '[[tool.uv.index]]\nurl = "https://evil.test/s"\n',
                       "fetches packages from https://evil.test/s"),
    "a page of the project": ("pyproject.toml", "", '[project.urls]\nHomepage = "https://x.test"\n', ""),
    "cargo": (".cargo/config.toml", "", '[source.x]\nregistry = "https://evil.test/i"\n', "fetches packages from https://evil.test/i"),
    "yarn": (".yarnrc.yml", "", 'npmRegistryServer: "https://evil.test"\n', "fetches packages from https://evil.test"),
    "bundler": ("Gemfile", "", "source 'https://evil.test'\n", "fetches packages from https://evil.test"),
    "go": ("go.mod", "", "replace a.test/b => evil.test/b v1.0.0\n", "fetches packages from evil.test/b"),
    "a lock of npm": ("package-lock.json", "", '   "resolved": "https://evil.test/x.tgz",\n "url": "https://fund.test"\n',
                      "fetches packages from evil.test"),
    "a lock of npm as usual": ("package-lock.json", "", '   "resolved": "https://registry.npmjs.org/x.tgz",\n', ""),
    "a lock of yarn": ("yarn.lock", "", '  resolved "https://evil.test/x.tgz#1"\n', "fetches packages from evil.test"),
    "a lock of pnpm": ("pnpm-lock.yaml", "", "    resolution: {tarball: https://evil.test/x.tgz}\n",
                       "fetches packages from evil.test"),
    "a lock of uv": ("uv.lock", "", 'source = { registry = "https://evil.test/simple" }\n',
                     "fetches packages from evil.test"),
    "a lock of cargo": ("Cargo.lock", "", 'source = "git+https://evil.test/x"\n', "fetches packages from evil.test"),
    "the same as before": ("uv.toml", 'index-url = "https://a.test/s"\n', 'index-url = "https://a.test/s" # why\n', ""),
    "no package manager's": ("docs/index.toml", "", 'index-url = "https://a.test/s"\n', ""),
}  # fmt: skip


@pytest.mark.parametrize("case", SOURCES)
def test_a72_where_packages_come_from_is_named(case: str):
    path, old, new, note = SOURCES[case]
    assert new_sources(path, *changed_lines(old, new)) == note


@pytest.mark.parametrize(
    "path", ["requirements/base.txt", "requirements/sub/x.in", "reqs/dev.in", "Constraints.txt"]
)
def test_a72_every_list_of_requirements_is_a_manifest(path: str, parser: Parser):
    assert sensitive(path) == "dependency manifest"
    named = new_dependencies(path, *changed_lines("", "evil==1\n"), b"evil==1\n", parser)
    assert named == "adds the dependency evil"


# Other files that are flagged


SETTINGS_FILE = """\
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
    assert old in SETTINGS_FILE
    note = set_up("lib/pyproject.toml", SETTINGS_FILE.encode(), SETTINGS_FILE.replace(old, new).encode())
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
