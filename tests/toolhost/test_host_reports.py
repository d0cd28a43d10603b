"""Reports that a check left: read where they are new, refused where they are a trap, and never waited for."""

from pathlib import Path

import pytest

from bot.ecosystems.test_results import ParsedTests
from bot.toolhost.test_reports import PLACES, find, parse_junit

PYTEST = """<?xml version="1.0" encoding="utf-8"?><testsuites><testsuite name="pytest" tests="5">
<testcase classname="" name="test_b"><error message="collection failure">no</error></testcase>
<testcase classname="test_a" name="test_good" time="0.000" />
<testcase classname="test_a" name="test_p[b c]"><failure message="x">no &amp; no</failure></testcase>
<testcase classname="test_a" name="test_x"><skipped type="pytest.xfail" message="" /></testcase>
<testcase classname="test_a.TestK" name="test_k"><error message="setup"/></testcase>
</testsuite></testsuites>"""


def parsed(content: bytes | str) -> ParsedTests:
    return parse_junit(content if isinstance(content, bytes) else content.encode(), "JUnit report")


def test_a_test_is_its_class_and_its_name_and_an_error_is_a_failure():
    found = parsed(PYTEST)
    assert found.names == {
        "passed": ["test_a::test_good"],
        "failed": ["test_b", "test_a::test_p[b c]", "test_a.TestK::test_k"],
        "skipped": ["test_a::test_x"],
    }


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252"])
def test_encodings_that_xml_may_have_are_read(encoding: str):
    text = f'<?xml version="1.0" encoding="{encoding}"?><testsuite><testcase name="ü"/></testsuite>'
    assert parsed(text.encode(encoding)).names["passed"] == ["ü"]


@pytest.mark.parametrize(
    "path",
    [
        "junit.xml",
        "test-reports.xml",
        "test-results/a.xml",
        "reports/junit.xml",
        "target/nextest/ci/junit.xml",
    ],
)
def test_reports_are_found_where_runners_put_them_by_default(path: str, tmp_path: Path):
    report = tmp_path / path
    report.parent.mkdir(parents=True, exist_ok=True)
    report.write_text("<testsuite/>")
    assert list(find(tmp_path, PLACES)) == [path]
