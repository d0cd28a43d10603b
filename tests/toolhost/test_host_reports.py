"""Reports that a check left: read where they are new, refused where they are a trap, and never waited for."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.ecosystems.test_results import MOST_NAMES, ParsedTests
from bot.toolhost.reports import files, junit
from bot.toolhost.reports.files import ReportError
from tests.toolhost.conftest import Bench

PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="5">
<testcase classname="" name="test_b"><error message="collection failure">no</error></testcase>
<testcase classname="test_a" name="test_good" time="0.000" />
<testcase classname="test_a" name="test_p[b c]"><failure message="x">no &amp; no</failure></testcase>
<testcase classname="test_a" name="test_x"><skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test_a.TestK" name="test_k"><error message="setup"/></testcase>
</testsuite></testsuites>"""

BOMB = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "aaaaaaaaaa">'
    + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
    + "]><testsuite><testcase name='&a9;'/></testsuite>"
)


def parsed(content: bytes | str) -> ParsedTests:
    found = ParsedTests("JUnit report")
    junit.parse(content if isinstance(content, bytes) else content.encode(), found)
    return found


def look(bench: Bench, **arguments: Any) -> dict[str, Any]:
    return dict(bench.call("check_reports", **arguments).metadata)


def after(bench: Bench, output: str = "", **arguments: Any) -> dict[str, Any]:
    spill = bench.context.spill / "0001.txt"
    spill.write_text(output)
    return look(bench, spill=str(spill), **arguments)


def test_a_test_is_its_class_and_its_name_and_an_error_is_a_failure() -> None:
    found = parsed(PYTEST)
    assert found.names == {
        "passed": ["test_a::test_good"],
        "failed": ["test_b", "test_a::test_p[b c]", "test_a.TestK::test_k"],
        "skipped": ["test_a::test_x"],
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_xml_may_have_are_read(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="ü"/></testsuite>'
    assert parsed(text.encode(encoding)).names["passed"] == ["ü"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (BOMB, "declares a document type of its own"),
        (
            '<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///etc/passwd">%p;]><testsuite/>',
            "declares a document type",
        ),
        ("<testsuite><testcase name='a'>", "is no XML"),
        ("", "is no XML"),
        ("<html/>", "is no JUnit report"),
        (b"\0" * 100, "is no XML"),
    ],
    ids=["bomb", "external entity", "cut", "empty", "html", "zeros"],
)
def test_a_report_that_is_none_or_a_trap_is_named_and_not_read(content: bytes | str, why: str) -> None:
    with pytest.raises(ReportError, match=why):
        parsed(content)


FORBIDDEN: dict[str, tuple[str | bytes, str]] = {
    "a control character": ('<testsuite><testcase name="a\x1b[0m"/>{}', "a[0m"),
    "a zero byte": ('<testsuite><testcase name="a\0"/>{}', "a"),
    "a reference to one": ('<testsuite><testcase name="a&#1;&#x1F;&#0;&#65;"/>{}', "aA"),
    "a reference to half a pair": ('<testsuite><testcase name="a&#xD800;&#56320;"/>{}', "a"),
    "a reference to no character": (f'<testsuite><testcase name="a&#x110000;&#{"9" * 5000};"/>{{}}', "a"),
    "a noncharacter": ('<testsuite><testcase name="a\uffff"/>{}', "a"),
    "in output": ('<testsuite><testcase name="a"><system-out><![CDATA[\x08&#2;]]></system-out></testcase>{}', "a"),
    "half a pair": (b'<testsuite><testcase name="a\xed\xa0\x80b"/>{}', "a\ufffd\ufffd\ufffdb"),
    "no UTF-8": (b'<?xml version="1.0" encoding="utf-8"?><testsuite><testcase name="a\xff"/>{}', "a\ufffd"),
    "an unknown encoding": ('<?xml version="1.0" encoding="no-such"?><testsuite><testcase name="ü"/>{}', "ü"),
    "an encoding of bytes": ('<?xml version="1.0" encoding="hex"?><testsuite><testcase name="ü"/>{}', "ü"),
    "UTF-8 that calls itself UTF-16": ('<?xml version="1.0" encoding="UTF-16"?><testsuite><testcase name="ü"/>{}', "ü"),
    "UTF-8 that calls itself ASCII": ('<?xml version="1" encoding="us-ascii"?><testsuite><testcase name="ü"/>{}', "ü"),
    "a declaration after a line": ('\n<?xml version="1.0"?><testsuite><testcase name="a"/>{}', "a"),
    "XML 1.1": ('<?xml version="1.1"?><testsuite><testcase name="a&#1;"/>{}', "a"),
}  # fmt: skip


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_what_xml_forbids_costs_no_test(kind: str) -> None:
    text, name = FORBIDDEN[kind]
    content = text if isinstance(text, bytes) else str(text).encode("utf-8", "surrogatepass")
    end = '<testcase name="z"/></testsuite>'
    found = parsed(content.replace(b"{}", end.encode()))
    assert found.names["passed"] == [name, "z"]


def test_an_external_document_type_is_passed_over_and_never_fetched() -> None:
    text = (
        '<!DOCTYPE testsuite SYSTEM "http://127.0.0.1:9/x.dtd"><testsuite><testcase name="a&x;"/></testsuite>'
    )
    assert parsed(text).counts["passed"] == 1


FAILURE = '<testsuite><testcase classname="a" name="b"><{}</testcase></testsuite>'


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        ('failure message="AssertionError: assert 1 == 2&#10; +  where 1 = f()"/>', "AssertionError: assert 1 == 2"),
        ('failure message="Failed">=== RUN x&#10;    a_test.go:3: got 1\n</failure>', "got 1"),
        ('failure type="x">Error: expect(received).toBe(expected)\n\nExpected: 2\nReceived: 1\n  at x:1\n</failure>',
         "Error: expect(received).toBe(expected); Expected: 2; Received: 1"),
        ('error message="collection failure">a.py:1\n    import x\nE   ModuleNotFoundError: x\n</error>',
         "ModuleNotFoundError: x"),
        ('error message=""/>', None),
        ('skipped message="later"/>', None),
        ('failure message="first"/><error message="second"/>', "first"),
    ],
)  # fmt: skip
def test_why_a_test_failed_is_read_of_its_message_or_its_text(failure: str, reason: str | None) -> None:
    found = ParsedTests("x")
    junit.parse(FAILURE.format(failure).encode(), found)
    assert found.reasons == ({"a::b": reason} if reason else {})


def test_a_thousand_failures_are_explained_and_no_more() -> None:
    failure = f'<failure message="{"m" * 300}"/>'
    cases = "".join(f'<testcase classname="a" name="b{n}">{failure}</testcase>' for n in range(1_100))
    found = ParsedTests("x")
    junit.parse(f"<testsuite>{cases}</testsuite>".encode(), found)
    assert len(found.names["failed"]) == 1_100
    assert len(found.reasons) == 1_000
    assert max(map(len, found.reasons.values())) == 200


def test_many_tests_are_counted_and_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.ecosystems.test_results.MOST_NAMES", 100)
    found = parsed("<testsuite>" + '<testcase name="x"/>' * 1000 + "</testsuite>")
    message = found.message()
    assert (message["named"], message["counts"]) == (False, {"passed": 1000, "failed": 0, "skipped": 0})
    assert message["names"] == {"passed": [], "failed": [], "skipped": []}
    assert "too many tests" in str(message["note"])


def test_the_names_of_the_most_tests_fit_into_a_frame() -> None:
    found = ParsedTests("x")
    for number in range(MOST_NAMES):
        found.add(f"{number}{'ü' * 400}", "passed")
    assert len(json.dumps(found.message())) < 14 * 1024 * 1024


def test_long_names_stay_apart() -> None:
    found = ParsedTests("x")
    found.add("a" * 5000 + "1", "passed")
    found.add("a" * 5000 + "2", "passed")
    found.add("two\nlines\x1b[31m", "passed")
    first, second, third = found.names["passed"]
    assert first != second
    assert max(map(len, (first, second))) <= 300
    assert third == "two lines [31m"


def test_only_a_report_that_is_new_is_believed(bench: Bench) -> None:
    bench.write("junit.xml", PYTEST)
    before = look(bench)["stamps"]
    assert after(bench, stamps=before)["tests"] is None
    bench.write("junit.xml", PYTEST.replace("test_good", "test_fine"))
    tests = after(bench, stamps=before)["tests"]
    assert tests["source"] == "JUnit report"
    assert tests["names"]["passed"] == ["test_a::test_fine"]


def test_the_root_is_left_out_of_names_since_each_tree_has_its_own(bench: Bench) -> None:
    bench.write("junit.xml", f'<testsuite><testcase name="{bench.context.real_root}/a.py"/></testsuite>')
    assert after(bench)["tests"]["names"]["passed"] == ["a.py"]


def test_several_reports_of_a_pattern_are_one(bench: Bench) -> None:
    for name in ("a", "b"):
        bench.write(f"deep/er/out/TEST-{name}.xml", f'<testsuite><testcase name="{name}"/></testsuite>')
    bench.write("deep/er/out/other.xml", "<nothing/>")
    tests = after(bench, junit=["deep/**/TEST-*.xml"])["tests"]
    assert sorted(tests["names"]["passed"]) == ["a", "b"]


def test_what_was_too_much_is_said_beside_what_could_be_read(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.ecosystems.test_results.MOST_NAMES", 1)
    bench.write("test-results/a.xml", PYTEST)
    (bench.root / "test-results" / "b.xml").symlink_to("a.xml")
    tests = after(bench)["tests"]
    assert (tests["named"], tests["whole"]) == (False, False)
    assert tests["note"] == "there are too many tests to name; test-results/b.xml is not a regular file"


def test_an_output_that_cannot_be_read_makes_pytests_report_doubtful(bench: Bench) -> None:
    (bench.context.tmp / "r.xml").write_text(PYTEST)
    (bench.context.spill / "0001.txt").symlink_to("/etc/passwd")
    told = look(bench, spill=str(bench.context.spill / "0001.txt"), asked="r.xml")["tests"]
    assert told["source"] == ""
    assert "its output is not a regular file" in told["note"]


def test_a_report_that_policy_names_and_nobody_wrote_is_said(bench: Bench) -> None:
    tests = after(bench, "Ran 1 test in 0.1s\n\nOK\n", junit=["out/junit.xml"])["tests"]
    assert tests["note"] == "no new report at out/junit.xml"
    assert tests["source"] == "unittest's output"


PLANTED: dict[str, Callable[[Path], object]] = {
    "a FIFO": os.mkfifo,
    "a link": lambda path: path.symlink_to("/etc/passwd"),
    "large": lambda path: (path.touch(), os.truncate(path, 100 * files.MIB)),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_no_report_is_named_and_not_opened(bench: Bench, kind: str) -> None:
    PLANTED[kind](bench.root / "junit.xml")
    why = "is larger than 64 MiB" if kind == "large" else "is not a regular file"
    tests = after(bench)["tests"]
    assert (tests["source"], tests["whole"]) == ("", False)
    assert f"junit.xml {why}" in tests["note"]


def test_a_report_behind_a_folder_that_leads_out_is_refused(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "junit.xml").write_text(PYTEST)
    (bench.root / "reports").symlink_to(tmp_path / "out")
    assert "leads out of the repository" in after(bench, junit=["reports/junit.xml"])["tests"]["note"]


def test_the_report_that_pytest_was_asked_for_comes_first(bench: Bench) -> None:
    (bench.context.tmp / "r.xml").write_text(PYTEST)
    once = after(bench, "1 passed in 0.1s\n", asked="r.xml")["tests"]
    assert once["source"] == "pytest's report"
    twice = after(bench, "1 passed in 0.1s\n1 passed in 0.2s\n", asked="r.xml")["tests"]
    assert twice["source"] == "pytest's output"
    assert "pytest may have run more than once" in twice["note"]
    sure = after(bench, "1 passed in 0.1s\n1 passed in 0.2s\n", asked="r.xml", sure=True)["tests"]
    assert sure["source"] == "pytest's report"


COBERTURA = """<?xml version="1.0"?><!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/x.dtd">
<coverage><sources><source>{root}/src</source></sources><packages><package><classes>
<class filename="a.py"><lines><line number="1" hits="1"/><line number="3" hits="0"/></lines></class>
<class filename="other.py"><lines><line number="1" hits="0"/></lines></class>
</classes></package></packages></coverage>"""
LCOV = "TN:\nSF:src/a.py\nDA:1,1\nDA:3,0\nLF:2\nend_of_record\n"
ISTANBUL = json.dumps(
    {
        "{root}/src/a.py": {
            "statementMap": {
                "0": {"start": {"line": 1}},
                "1": {"start": {"line": 3}},
                "2": {"start": {"line": 3}},
            },
            "s": {"0": 4, "1": 0, "2": 0},
        }
    }
)
GO = "mode: set\nexample.com/app/src/a.py:1.2,1.9 1 1\nexample.com/app/src/a.py:3.2,3.9 1 0\n"
JACOCO = (
    '<report><package name="app"><sourcefile name="A.java"><line nr="1" mi="0" ci="2"/><line nr="3" mi="4" ci="0"/>'
    "</sourcefile></package></report>"
)


def covered(bench: Bench, name: str, content: str, path: str = "src/a.py") -> Any:
    bench.write(path, "1\n2\n3\n4\n")
    bench.write(name, content.replace("{root}", bench.context.real_root))
    return look(bench, lines={path: [1, 2, 3, 4], "src/b.py": [1]})["coverage"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("coverage.xml", COBERTURA),
        ("lcov.info", LCOV),
        ("coverage/lcov.info", LCOV),
        ("coverage/coverage-final.json", ISTANBUL),
    ],
)
def test_coverage_is_of_the_changed_lines_alone(bench: Bench, name: str, content: str) -> None:
    told = covered(bench, name, content)
    assert (told["sources"], told["note"]) == ([name], "")
    assert told["files"] == {"src/a.py": {"covered": [1], "missed": [3]}}


def test_go_names_files_by_its_module(bench: Bench) -> None:
    bench.write("go.mod", "module example.com/app\n\ngo 1.22\n")
    assert covered(bench, "cover.out", GO)["files"] == {"src/a.py": {"covered": [1], "missed": [3]}}


def test_a_package_without_a_folder_is_found_by_its_end(bench: Bench) -> None:
    told = covered(bench, "target/site/jacoco/jacoco.xml", JACOCO, "src/main/java/app/A.java")
    assert told["files"] == {"src/main/java/app/A.java": {"covered": [1], "missed": [3]}}


def test_a_file_of_the_same_name_that_was_not_changed_is_another(bench: Bench) -> None:
    bench.write("a.py", "1\n")
    told = covered(bench, "lcov.info", LCOV.replace("src/a.py", "a.py"))
    assert told["files"] == {}


def test_old_coverage_is_not_read(bench: Bench) -> None:
    bench.write("coverage.xml", COBERTURA)
    stamps = look(bench)["stamps"]
    told = look(bench, stamps=stamps, lines={"src/a.py": [1]})
    assert (told["measured"], told["coverage"]["sources"]) == (False, [])


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "is no JSON"),
        ("[" * 100, "no coverage report"),
        ("{" + '"a":{' * 100_000, "is no JSON"),
        ('{"a": 1}', "no coverage report"),
        ("<a/>", "no coverage report"),
        (BOMB, "declares a document type"),
        ("mode: set\n" + "a.go:1.1,9999999.1 1 1\n" * 3, "more lines than"),
        ("\x89PNG", "no coverage report"),
    ],
    ids=["cut", "list", "nested", "other json", "other xml", "bomb", "long blocks", "picture"],
)
def test_coverage_that_is_none_is_named_and_not_read(bench: Bench, content: str, why: str) -> None:
    told = covered(bench, "coverage.xml", content)
    assert told["sources"] == []
    assert why in told["note"]


def test_a_database_has_to_be_converted_first(bench: Bench) -> None:
    assert covered(bench, ".coverage", "SQLite format 3\0")["database"] is True
    (bench.context.tmp / "c.lcov").write_text(LCOV)
    told = look(bench, lines={"src/a.py": [1, 3]}, converted="c.lcov")["coverage"]
    assert (told["sources"], told["database"]) == ([".coverage"], False)
    assert told["files"] == {"src/a.py": {"covered": [1], "missed": [3]}}
