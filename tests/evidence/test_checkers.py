"""Which checkers are for a repository, and how each is called there."""

import time
from collections.abc import Mapping

import pytest

from bot.ecosystems.checker import Checker, sets_up
from bot.ecosystems.registry import checkers
from bot.evidence.checker_comparison import MOST, checker_after, choose_checkers, limit_projects


def chosen(files: dict[str, str], named: tuple[str, ...] | None = None) -> dict[str, str]:
    return {checker.name: checker.command for checker in choose_checkers(files, files.get, named)}


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"README.md": ""}, []),
        ({"a.py": ""}, ["ruff", "ty"]),
        ({"a.pyi": "", "pyrightconfig.json": "{}"}, ["ruff", "ty", "pyright"]),
        ({"a.py": "", "pyproject.toml": "[tool.basedpyright]\n[tool.pyright]"},
         ["ruff", "ty", "basedpyright"]),
        ({"a.py": "", "pyproject.toml": "[tool.mypy]\nstrict=true"}, ["ruff", "ty", "mypy"]),
        ({"a.py": "", "setup.cfg": "[mypy]\n"}, ["ruff", "ty", "mypy"]),
        ({"a.ts": "", "tsconfig.json": "{}", "biome.jsonc": ""}, ["tsc", "biome"]),
        ({"a.js": "", ".oxlintrc.json": "", "eslint.config.js": ""}, ["oxlint", "eslint"]),
        ({"sub/tsconfig.json": "{}"}, ["tsc"]),
        ({"Cargo.toml": ""}, ["cargo"]),
        ({"go.mod": "", "a.go": ""}, ["go-vet"]),
        ({"bin/run.sh": ""}, ["shellcheck", "bash"]),
    ],
)  # fmt: skip
def test_they_are_chosen_by_what_the_base_commit_has(files: dict[str, str], names: list[str]):
    assert list(chosen(files)) == names


def test_ruff_looks_for_what_cannot_run_unless_the_repository_says_more():
    assert chosen({"a.py": ""})["ruff"].endswith("--select E9,F")
    for settings in ({"ruff.toml": ""}, {"pyproject.toml": "[tool.ruff.lint]\n"}, {".ruff.toml": ""}):
        assert "--select" not in chosen({"a.py": "", **settings})["ruff"]
    assert "--select" in chosen({"a.py": "", "pyproject.toml": "# [tool.ruff]"})["ruff"]


def test_mypy_is_given_the_folder_where_its_settings_name_no_files():
    assert chosen({"a.py": "", "mypy.ini": "[mypy]\nstrict = True"})["mypy"].endswith(" .")
    assert not chosen({"a.py": "", "mypy.ini": "[mypy]\nfiles = src"})["mypy"].endswith(" .")


def test_a_policy_names_those_that_it_wants():
    files = {"a.py": "", "x.sh": ""}
    assert list(chosen(files, ("ty", "tsc"))) == ["ty"]
    assert chosen(files, ()) == {}


def test_files_are_named_to_a_checker_that_needs_it_up_to_a_limit():
    shell = next(checker for checker in checkers() if checker.name == "shellcheck")
    assert shell.files_of(["b.sh", "a.bash", "c.py"]) == (("a.bash", "b.sh"), True)
    files, all_of_them = shell.files_of([f"{n}.sh" for n in range(5000)])
    assert (len(files), all_of_them) == (2000, False)
    ruff = next(checker for checker in checkers() if checker.name == "ruff")
    assert ruff.files_of(["a.py"]) == ((), True)


@pytest.mark.parametrize(
    ("name", "path", "text", "counts"),
    [
        ("ruff", "ruff.toml", "", True),
        ("ruff", "src/app/.ruff.toml", "exclude = ['*']", True),  # in force from that folder on
        ("ruff", "src/pyproject.toml", "[tool.ruff]", True),
        ("ruff", "src/pyproject.toml", "[tool.other]", False),
        ("ruff", "pyproject.toml", "[tool.other]\na = 'ruff'", False),
        ("ruff", "pyproject.toml", "[tool.ruff", True),  # which nobody can read
        ("ruff", ".gitignore", "src/", True),  # what git ignores it does not look at
        ("ty", "src/.ignore", "*", True),
        ("ty", "src/ty.toml", "", False),
        ("mypy", "docs/mypy.ini", "", False),
        ("tsc", "tsconfig.base.json", "{}", True),
        ("tsc", "packages/a/tsconfig.build.json", "{}", True),
        ("tsc", "package.json", '{"devDependencies": {"typescript": "file:./mine"}}', True),
        ("tsc", "package.json", '{"dependencies": {}}', False),
        ("eslint", "web/eslint.config.cjs", "", True),
        ("eslint", "package.json", '{"devDependencies": {"eslint": "9"}}', True),
        ("eslint", "package.json", '{"dependencies": {}}', False),
        ("cargo", ".cargo/config.toml", "[build]", True),
        ("cargo", "a/build.rs", "", True),
        ("cargo", "src/main.rs", "", False),
        ("shellcheck", "bin/.shellcheckrc", "disable=all", True),
        ("bash", ".gitignore", "", False),
    ],
)
def test_what_sets_one_up_counts_wherever_it_is_read(name: str, path: str, text: str, counts: bool):
    (checker,) = [checker for checker in checkers() if checker.name == name]
    assert sets_up(checker, path, ("", text)) is counts


# Projects


def folders(files: Mapping[str, str], name: str) -> list[str]:
    return [checker.folder for checker in choose_checkers(files, files.get) if checker.name == name]


def named(name: str, folder: str = "", apart: tuple[str, ...] = ()) -> Checker:
    (known,) = [checker for checker in checkers() if checker.name == name]
    return known._replace(folder=folder, excluded_folders=apart)


def test_a_folder_whose_name_is_a_pattern_hides_no_other():
    apart = ("a/plain one", "a/*", "a/x,src", "a/{b,c}", "a/[b]", "a/b?", "a/!b", "a/b\n")
    (left,) = [word for word in named("ty", "a", apart).full_arguments if "exclude" in word]
    assert left.endswith("exclude=./plain one")


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    [
        ("tsc", {"web/tsconfig.json": "{}", "api/tsconfig.json": "{}"}, ["api", "web"]),
        ("tsc", {"tsconfig.json": "{}", "a/node_modules/x/tsconfig.json": "{}", "a/testdata/tsconfig.json": ""}, [""]),
        # One that others only extend has nothing to look at.
        ("tsc", {"tsconfig.json": '{"files": []}', "a/tsconfig.json": '{"extends": "../tsconfig.json"}'}, ["a"]),
        ("tsc", {"tsconfig.json": '{"files": [], "references": [{"path": "./a"}, {"path": "b/tsconfig.json"}]}',
                 "a/tsconfig.json": '{"references": [{"path": "../c"}]}', "b/tsconfig.json": "{}",
                 "c/tsconfig.json": "{}", "d/tsconfig.json": "{}"}, ["a", "b", "c", "d"]),
        ("tsc", {"web/tsconfig.json": '{"references": [{"path": "./tsconfig.app.json"}]}',
                 "web/tsconfig.app.json": "{}"}, ["web", "web"]),
        ("tsc", {"tests/tsconfig.json": "{}", "deep/er/web/tsconfig.json": "{}"}, ["deep/er/web", "tests"]),
        ("cargo", {"Cargo.toml": "", "crates/a/Cargo.toml": ""}, [""]),
        ("cargo", {"rust/Cargo.toml": "", "rust/sub/Cargo.toml": "", "fuzz/Cargo.toml": ""}, ["fuzz", "rust"]),
        ("go-vet", {"go.mod": "", "tools/go.mod": "", "vendor/x/go.mod": "", "go.work": ""}, ["", "tools"]),
        ("ruff", {"pyproject.toml": "[tool.ruff]", "a/ruff.toml": "", "a/a.py": "", "b.py": ""}, [""]),
        ("ruff", {"a/ruff.toml": "", "a/a.py": ""}, [""]),
        ("ty", {"api/pyproject.toml": "", "api/a.py": "", "b.py": ""}, ["", "api"]),
        ("ty", {"pyproject.toml": "", "docs/pyproject.toml": "", "a.py": ""}, [""]),  # no Python there
        ("mypy", {"a.py": "", "api/mypy.ini": "", "web/setup.cfg": "[mypy]"}, ["api", "web"]),
        ("pyright", {"api/pyproject.toml": "[tool.pyright]", "a.py": ""}, ["api"]),
        ("eslint", {"eslint.config.js": "", "web/eslint.config.ts": "", "api/.eslintrc.js": ""}, ["", "web"]),
        ("biome", {"biome.json": "", "web/biome.json": ""}, [""]),  # which finds the other by itself
        ("oxlint", {"web/.oxlintrc.json": "", "web/x/.oxlintrc.json": ""}, ["web"]),
    ],
)  # fmt: skip
def test_a_repository_may_hold_several_projects(name: str, files: dict[str, str], expected: list[str]):
    assert folders(files, name) == expected


def test_typescript_reads_comments_and_commas_and_so_does_this():
    text = '// one\n{ /* two */ "files": [], "x": "// no comment, /* none",\n "references": [ {"path": "./a",}, ], }'
    assert folders({"tsconfig.json": text, "a/tsconfig.json": "{}"}, "tsc") == ["a"]


@pytest.mark.parametrize(
    "text", ["/*" * 100_000, '"\\' * 100_000, '{"a":' * 100_000, '"' + "\\" * 199_999, "[" * 99_999]
)
def test_settings_without_end_are_no_settings(text: str):
    began = time.process_time()
    assert folders({"tsconfig.json": text}, "tsc") == [""]
    assert time.process_time() - began < 20  # and not an hour


def test_a_thousand_projects_are_found_without_reading_each():
    files = [
        f"p{number}/{name}"
        for number in range(1_000)
        for name in ("tsconfig.json", "Cargo.toml", "pyproject.toml", "a.py")
    ]
    read: list[str] = []
    chosen = choose_checkers(files, lambda path: read.append(path))
    assert len(read) < 500
    assert len(limit_projects(chosen)) == MOST * 3 + 1  # tsc, cargo, ty; ruff is for all of them
    by_tool = [checker.name for checker in chosen[:4]]
    assert len(set(by_tool)) == 4  # the first of each before the second of any


def test_files_are_named_from_the_folder_that_a_checker_runs_in():
    bash = named("bash", "tools", ("tools/x",))
    assert bash.files_of(["a.sh", "tools/b.sh", "tools/x/c.sh", "toolsmith/d.sh"]) == (("b.sh",), True)


@pytest.mark.parametrize(
    ("name", "folder", "path", "counts"),
    [
        ("tsc", "web", "web/src/tsconfig.json", True),
        ("tsc", "web", "tsconfig.base.json", True),  # which it may extend
        ("tsc", "web", "api/tsconfig.json", False),
        ("cargo", "rust", ".cargo/config.toml", True),
        ("cargo", "rust", "other/build.rs", False),
    ],
)
def test_a_project_is_set_up_by_what_is_in_it_and_above_it(name: str, folder: str, path: str, counts: bool):
    assert sets_up(named(name, folder), path, ("typescript",)) is counts


@pytest.mark.parametrize(
    ("checker", "paths", "is_there"),
    [
        (named("tsc", "api"), ["api/tsconfig.json"], True),
        (named("tsc", "web"), ["api/tsconfig.json", "web/a.ts"], False),
        (named("ty", "api"), ["api/a.py"], True),
        (named("ty", "api"), ["a.py"], False),
        (named("ty"), [], True),
    ],
)
def test_a_project_is_there_after_the_change_if_its_file_or_folder_is(
    checker: Checker, paths: list[str], is_there: bool
):
    assert (checker_after(checker, paths) is not None) == is_there


def test_the_settings_of_the_base_decide_what_a_checker_looks_at():
    after = checker_after(named("tsc", "", ("web", "gone")), ["tsconfig.json", "web/tsconfig.json"])
    assert after == named("tsc", "", ("web",))


def test_typescript_is_told_the_file_that_a_project_is_set_up_by_where_another_refers_to_it():
    files = {"web/tsconfig.json": '{"files": [], "references": [{"path": "./tsconfig.app.json"}]}'}
    files |= {"web/tsconfig.app.json": "{}", "web/tsconfig.unused.json": "{}"}
    (app,) = choose_checkers(files, files.get)
    assert (app.key, app.folder) == (("tsc", "web/tsconfig.app.json"), "web")
    assert app.full_arguments[-2:] == ("-p", "tsconfig.app.json")
