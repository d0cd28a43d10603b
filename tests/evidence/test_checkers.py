"""Which checkers are for a repository, and how each is called there."""

import pytest

from bot.ecosystems.checker import sets_up
from bot.ecosystems.registry import checkers
from bot.evidence.checker_comparison import choose_checkers


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
