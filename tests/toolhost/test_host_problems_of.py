"""Checkers run over the tree, what they print read, and what is no such thing said in one sentence."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from bot.contracts.plain_text import CONTROLS
from bot.ecosystems import registry
from bot.ecosystems.checker import Find, FormError
from bot.toolhost.problem_record import MOST, rows
from bot.toolhost.tools import problems_of
from tests.support.files import write_file
from tests.toolhost.conftest import Bench

PATH = os.environ["PATH"]
CHECKER = {
    "program": "checker", "where": ["project"], "version": [], "arguments": [], "form": "placed", "exits": [0, 1],
    "unit": "", "together": False,
}  # fmt: skip


def check(
    bench: Bench, script: str, files: tuple[str, ...] = (), timeout: float = 60, **other: Any
) -> dict[str, Any]:
    """Run a checker that is this shell script."""
    bench.write(".venv/bin/checker", f"#!/bin/bash\n{script}\n").chmod(0o755)
    bench.context.environment = {"PATH": PATH}
    folder = other.pop("folder", "")
    arguments = {"checker": {**CHECKER, **other}, "files": list(files), "folder": folder, "timeout": timeout}
    return dict(bench.call("problems_of", **arguments).metadata)


def found(form: str, output: str, root: str = "/w", unit: str = "") -> list[list[Any]]:
    return rows(registry.form(form)(output), root, unit)[0]


RUFF = {"filename": "/w/a.py", "location": {"row": 2, "column": 5}, "end_location": {"row": 2, "column": 6},
        "code": "F821", "message": "Undefined name `x`"}  # fmt: skip
PYRIGHT = {"file": "/w/a.py", "severity": "error", "message": "no\nbecause", "rule": "reportX",
           "range": {"start": {"line": 1, "character": 4}, "end": {"line": 1, "character": 5}}}  # fmt: skip
BIOME = {"message": "no", "severity": "ERROR", "code": {"value": "lint/x"}, "location": {"path": "a.ts",
         "range": {"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 6}}}}  # fmt: skip
OXLINT = {"message": "no", "code": "eslint(x)", "severity": "warning", "filename": "a.js",
          "labels": [{"span": {"offset": 3, "length": 1, "line": 2, "column": 5}}]}  # fmt: skip
ESLINT = [
    {"filePath": "/w/a.js", "messages": [
        {"ruleId": "no-undef", "severity": 2, "message": "'foo' is not defined.", "line": 1, "column": 15,
         "nodeType": "Identifier", "messageId": "undef", "endLine": 1, "endColumn": 18},
        {"ruleId": None, "message": "Unused eslint-disable directive (no problems were reported from 'no-alert').",
         "line": 2, "column": 10, "severity": 1, "nodeType": None, "fix": {"range": [29, 60], "text": " "}}],
     "suppressedMessages": [{"ruleId": "no-alert", "severity": 2, "message": "no", "line": 3, "column": 1}],
     "errorCount": 1, "fatalErrorCount": 0, "warningCount": 1, "source": "let \u2028"},
    {"filePath": "/w/b.js", "messages": [
        {"ruleId": None, "nodeType": None, "fatal": True, "severity": 2, "line": 1, "column": 1,
         "message": "Parsing error: The keyword 'let' is reserved"}], "source": "let = = ;"},
    {"filePath": "/w/c.ts", "messages": [
        {"ruleId": None, "nodeType": None, "fatal": True, "severity": 2, "message":
         'Parsing error: "parserOptions.project" has been provided for @typescript-eslint/parser.\nThe file was'}]},
    {"filePath": "/w/d.js", "messages": [
        {"fatal": False, "severity": 1, "message": "File ignored because of a matching ignore pattern."}]},
]  # fmt: skip
SHELL = {"file": "./a.sh", "line": 2, "endLine": 2, "column": 5, "endColumn": 6, "level": "warning", "code": 2034,
         "message": "x appears unused."}  # fmt: skip
RUST = {"reason": "compiler-message", "message": {"level": "error", "code": {"code": "E0308"}, "message": "mismatched",
        "spans": [{"is_primary": False}, {"is_primary": True, "file_name": "src/a.rs", "line_start": 2, "line_end": 2,
                   "column_start": 5, "column_end": 6}]}}  # fmt: skip
RUST_END = {"reason": "build-finished", "success": False}


@pytest.mark.parametrize(
    ("form", "output", "row"),
    [
        ("ruff", json.dumps([RUFF]), ["a.py", 2, 5, "error", "F821", "Undefined name `x`", ""]),
        ("ruff", json.dumps([RUFF | {"code": "D100"}]),
         ["a.py", 2, 5, "warning", "D100", "Undefined name `x`", ""]),
        ("ruff", json.dumps([RUFF | {"code": None}]),
         ["a.py", 2, 5, "error", "invalid-syntax", "Undefined name `x`", ""]),
        ("ty", "a.py:2:5: error[not-iterable] no\nFound 1 diagnostic\n",
         ["a.py", 2, 5, "error", "not-iterable", "no", ""]),
        ("ty", "a.py:2:5: warning[not-iterable] no\nFound 1 diagnostic\n",
         ["a.py", 2, 5, "warning", "not-iterable", "no", ""]),
        ("pyright", json.dumps({"generalDiagnostics": [PYRIGHT]}), ["a.py", 2, 5, "error", "reportX", "no", ""]),
        ("rdjson", json.dumps({"diagnostics": [BIOME]}), ["a.ts", 2, 5, "error", "lint/x", "no", ""]),
        ("oxlint", json.dumps({"diagnostics": [OXLINT]}), ["a.js", 2, 5, "warning", "eslint(x)", "no", ""]),
        ("shellcheck", json.dumps({"comments": [SHELL]}),
         ["a.sh", 2, 5, "warning", "SC2034", "x appears unused.", ""]),
        ("cargo", f"{json.dumps(RUST)}\n{json.dumps(RUST)}\n{json.dumps(RUST_END)}\n",
         ["src/a.rs", 2, 5, "error", "E0308", "mismatched", ""]),
        ("tsc", "src/a.ts(2,5): error TS2322: Type 'x' is not y.\n  Because.\n",
         ["src/a.ts", 2, 5, "error", "TS2322", "Type 'x' is not y.", ""]),
        ("mypy", "a.py:2:5: error: Bad [1]  [arg-type]\na.py:2: note: see\n",
         ["a.py", 2, 5, "error", "arg-type", "Bad [1]", ""]),
        ("placed", "# example.com/x\nvet: ./a.go:2:5: undefined: y\n",
         ["a.go", 2, 5, "error", "", "undefined: y", ""]),
        ("placed", "/w/a.go:2:5-9: undefined: y\n", ["a.go", 2, 5, "error", "", "undefined: y", ""]),
        ("bash", "./a.sh: line 2: syntax error near `fi'\n./a.sh: line 2: `fi'\n",
         ["a.sh", 2, 0, "error", "", "syntax error near `fi'", ""]),
    ],
)  # fmt: skip
def test_what_each_checker_prints_is_read(form: str, output: str, row: list[Any]):
    assert found(form, output) == [row]


@pytest.mark.parametrize(
    ("form", "output"),
    [
        ("ty", "All checks passed!\n"),
        ("pyright", json.dumps({"generalDiagnostics": [PYRIGHT | {"severity": "information"}]})),
        ("rdjson", json.dumps({"diagnostics": [BIOME | {"severity": "INFO"}]})),
        ("rdjson", json.dumps({"diagnostics": [{"message": "too large", "severity": "WARNING"}]})),
        ("shellcheck", json.dumps({"comments": [SHELL | {"level": "style"}]})),
        ("cargo", json.dumps({"reason": "compiler-message", "message": {"level": "error", "spans": []}})),
        ("ruff", "[]"),
    ],
)
def test_hints_and_what_stands_nowhere_are_left_out(form: str, output: str):
    assert rows(registry.form(form)(output), "/w") == ([], 0)


@pytest.mark.parametrize("form", ["ruff", "ty", "pyright", "rdjson", "oxlint", "eslint", "shellcheck"])
@pytest.mark.parametrize(
    "output", ["", "garbage", "[1]", '"x"', "null", "[" * 100_000, '{"x": NaN', "[[]]", "9" * 10_000]
)
def test_garbage_has_no_form(form: str, output: str):
    with pytest.raises(FormError):
        found(form, output)


@pytest.mark.parametrize("field", list(RUFF))
@pytest.mark.parametrize("value", [None, 7, -1, 1e400, [], {}, "", True, "\x1b[31m", 2**70])
def test_a_find_of_any_types_is_a_row_or_none(field: str, value: Any):
    for row in found("ruff", json.dumps([RUFF | {field: value}])):
        assert [type(part) for part in row] == [str, int, int, str, str, str, str]
        assert all(0 <= number <= 10**8 for number in row[1:3])


def test_eslint_finds_what_has_a_place_whatever_its_settings_printed():
    said = f"settings are code\n[1]\n{json.dumps(ESLINT, ensure_ascii=False)}\n"
    unused = "Unused eslint-disable directive (no problems were reported from 'no-alert')."
    beyond = '"parserOptions.project" has been provided for @typescript-eslint/parser.'
    assert found("eslint", said) == [
        ["a.js", 1, 15, "error", "no-undef", "'foo' is not defined.", ""],
        ["a.js", 2, 10, "warning", "", unused, ""],
        ["b.js", 1, 1, "error", "parsing-error", "The keyword 'let' is reserved", ""],
        ["c.ts", 1, 0, "error", "parsing-error", beyond, ""],
    ]


@pytest.mark.parametrize(
    ("files", "why"),
    [([], "there was no file for it to look at"), (ESLINT[2:3], '"parserOptions.project" has been provided')],
)
def test_eslint_that_could_look_at_nothing_is_no_clean_bill(files: list[Any], why: str):
    with pytest.raises(FormError, match=why):
        found("eslint", json.dumps(files))


def test_why_eslint_ends_is_said(bench: Bench):
    told = {"program": "eslint", "form": "eslint"}
    oops = "\nOops! Something went wrong! :(\n\nESLint: 9.39.4\n\n"
    for words, why in {
        "ESLint couldn't find an eslint.config.(js|mjs|cjs) file.\n\nFrom v9": "ESLint couldn't find an eslint.config",
        "/w/eslint.config.js:2\n\n\nSyntaxError: Unexpected end of input\n    at x": "SyntaxError: Unexpected end of",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'x'": "Error [ERR_MODULE_NOT_FOUND]: Cannot find pack",
    }.items():
        bench.write("words", oops + words)
        script = "#!/bin/bash\ncat words >&2; sleep 60 & exit 2\n"
        bench.write("node_modules/.bin/eslint", script).chmod(0o755)
        said = check(bench, "", **told)
        assert said["state"] == "unavailable"
        assert said["note"].startswith(f"it ended with exit code 2: {why}")


def test_tsc_without_a_project_says_why_instead():
    with pytest.raises(FormError, match="TS18003: No inputs were found"):
        found("tsc", "error TS18003: No inputs were found in config file '/w/tsconfig.json'.\n")


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/w/src/a.py", "src/a.py"),
        ("./src/../a.py", "a.py"),
        ("/etc/passwd", None),
        ("../a.py", None),
        ("src/../../a.py", None),
        (".git/config", None),
        ("/w", None),
        ("a\n.py", None),
        ("a\u202e.py", None),
        ("a" * 501, None),
        ("", None),
        (7, None),
    ],
)
def test_paths_are_of_the_repository_or_counted_as_outside(path: object, seen: str | None):
    result = rows([Find(path, 1, 1, "error", "c", "m")], "/w")
    assert [row[0] for row in result[0]] == ([] if seen is None else [seen])
    assert result[1] == (seen is None)


def test_a_message_is_one_line_without_controls_and_without_the_place_of_the_tree():
    message = "\x1b]0;t\x07\x1b[31mBad\x1b[0m \x00\x9b1m in /w/a.py, under /w\nmore"
    (row,) = rows([Find("a.py", 2**40, -3, "error", 7, message)], "/w")[0]
    assert row == ["a.py", 0, 0, "error", "7", "Bad in a.py, under .", ""]
    (long,) = rows([Find("a.py", 1, 1, "error", "c" * 200, "m" * 10_000)], "/w")[0]
    assert (len(str(long[4])), len(str(long[5]))) == (80, 300)
    assert not CONTROLS.search(json.dumps(long))


def test_the_source_line_comes_along_and_columns_count_code_points(tmp_path: Path):
    (tmp_path / "a.ts").write_text("one\n\t😀 = x\n")
    finds = [Find("a.ts", 2, 7, "error", "", "m"), Find("a.ts", 9, 7, "error", "", "m")]
    first, beyond = rows(finds, str(tmp_path), "utf-16")[0]
    assert (first[2], first[6], beyond[2], beyond[6]) == (6, "😀 = x", 7, "")
    (in_bytes,) = rows([Find("a.ts", 2, 9, "error", "", "m")], str(tmp_path), "utf-8")[0]
    assert in_bytes[2] == 6


def test_no_source_line_is_read_through_a_link_that_leads_out(tmp_path: Path):
    (tmp_path / "tree").mkdir()
    (tmp_path / "secret").write_text("hidden\n")
    (tmp_path / "tree" / "a.py").symlink_to(tmp_path / "secret")
    (row,) = rows([Find("a.py", 1, 1, "error", "", "m")], str(tmp_path / "tree"))[0]
    assert row[6] == ""


def test_more_problems_than_can_be_compared_are_none():
    one = Find("a.py", 1, 1, "error", "c", "m")
    assert len(rows([one] * 10_000, "/w")[0]) == 10_000
    with pytest.raises(FormError, match="more problems than can be compared"):
        rows([one] * (MOST + 1), "/w")
    wide = Find("é" * 250, 1, 1, "error", "c", "é" * 300)
    with pytest.raises(FormError, match="more problems than can be compared"):
        rows([wide] * MOST, "/w")  # they would not fit into one frame


def test_a_checker_runs_in_the_tree_and_its_word_is_read(bench: Bench):
    bench.write("a.py", "import os\nx = y\n")
    said = check(bench, 'echo "$PWD/a.py:2:5: undefined: y ($*)"; echo noise >&2; exit 1', ("a.py",))
    assert said["rows"] == [["a.py", 2, 5, "error", "", "undefined: y (./a.py)", "x = y"]]
    assert (said["state"], said["outside"]) == ("complete", 0)


@pytest.mark.parametrize(
    ("script", "note"),
    [
        ("echo 'a.py:1: x'; echo 'config is broken' >&2; exit 2", "it ended with exit code 2: config is broken"),
        ("echo no; kill -SEGV $$", "it ended with exit code -11"),
    ],
)  # fmt: skip
def test_a_checker_that_fails_says_nothing_of_the_code(bench: Bench, script: str, note: str):
    said = check(bench, script)
    assert (said["state"], said["rows"]) == ("unavailable", [])
    assert said["note"].startswith(note)


def test_garbage_from_a_checker_is_no_clean_bill(bench: Bench):
    said = check(bench, "echo 'Traceback'; exit 0", form="ruff")
    assert (said["state"], said["note"]) == ("unavailable", "its output is not JSON")


@pytest.mark.slow
def test_a_checker_that_hangs_is_ended_with_all_it_started(bench: Bench, tmp_path: Path):
    mark = tmp_path / "alive"
    said = check(bench, f"trap '' TERM; (sleep 600; touch {mark}) & wait; sleep 600", timeout=0.3)
    assert said["state"] == "timed_out"
    assert not mark.exists()


def test_a_daemon_that_a_checker_leaves_holds_nothing_up(bench: Bench):
    began = time.monotonic()
    said = check(bench, "echo 'a.py:1:1: m'; setsid sleep 600 & disown; exit 0", timeout=60)
    assert (said["state"], len(said["rows"])) == ("complete", 1)
    assert time.monotonic() - began < 30


def test_a_flood_is_stopped(bench: Bench, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(problems_of, "_MOST_OUTPUT", 1_000_000)
    said = check(bench, "yes 'a.py:1:1: m'", timeout=60)
    assert (said["state"], said["note"]) == ("unavailable", "it printed more than 1 MB")
    assert check(bench, "yes >&2 & sleep 0.2; kill $!; echo a.py:1:1: m")["state"] == "complete"


@pytest.mark.parametrize(
    "swap", ["mkfifo $f", "mkdir $f", "ln -s /dev/zero $f", "ln -s $f $f", "install -m 0 /dev/null $f", ":"]
)
def test_whatever_a_checker_makes_of_the_file_for_its_words_holds_nothing_up(bench: Bench, swap: str):
    f = f"$(echo {bench.context.tmp}/.of-command-*)"
    told = check(bench, f"f={f}; echo 'first words' >&2; rm $f; {swap}; exit 2")
    assert (told["state"], told["note"]) == ("unavailable", "it ended with exit code 2: first words")
    again = check(bench, "echo a.py:1:1: m; echo words >&2")  # with whatever lies there
    assert (again["state"], len(again["rows"])) == ("complete", 1)


def test_a_program_that_is_not_there_or_does_not_run_is_unavailable(bench: Bench):
    nobody = check(bench, "", program="nobody")
    assert nobody["note"] == "nobody is not installed: the project has none of its own"
    proxy = check(bench, "echo 'error: unknown binary' >&2; exit 1", version=["--version"])
    assert proxy["note"] == "checker does not run here: error: unknown binary"
    assert {nobody["state"], proxy["state"]} == {"unavailable"}
    there = check(bench, 'echo "checker 1.2.3"', version=["--version"])
    assert (there["state"], there["version"]) == ("complete", "checker 1.2.3")


def test_ours_comes_before_the_projects_own(bench: Bench, tmp_path: Path):
    own = tmp_path / "own"
    write_file(own, "#!/bin/bash\necho a.py:1:1: ours\n", 0o755)
    bench.context.programs = {"checker": str(own)}
    assert check(bench, "echo a.py:1:1: theirs", where=["ours", "project"])["rows"][0][5] == "ours"
    assert check(bench, "echo a.py:1:1: theirs")["rows"][0][5] == "theirs"


def test_one_that_prints_nothing_has_its_words_told(bench: Bench):
    told = check(bench, "echo 'settings: no such file' >&2; exit 1", form="rdjson")
    assert (told["state"], told["note"]) == ("unavailable", "its output is not JSON: settings: no such file")


def test_in_a_folder_the_nearest_program_and_environment_are_the_projects(bench: Bench):
    bench.write("api/.venv/pyvenv.cfg", "")
    bench.write("api/src/a.x", "one\n")
    own = bench.write("api/node_modules/.bin/checker", '#!/bin/bash\necho "a.x:1:1: $VIRTUAL_ENV"\n')
    own.chmod(0o755)
    told = check(bench, "echo 'a.x:1:1: of the top'", folder="api/src")
    assert told["rows"][0][0] == "api/src/a.x"
    assert told["rows"][0][5] == "api/.venv"
    assert (
        check(bench, "echo 'a.x:1:1: of the top'", folder="nowhere")["note"] == "there is no folder nowhere"
    )
