"""The journal: what is written comes back, whatever kills the run, and secrets do not get in."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.journal import Journal, JournalError, parse_journal, read_journal
from bot.contracts import journal as lines
from bot.contracts.errors import UsageError
from bot.contracts.messages import PARTS, Part, Text, Thinking, ToolCall
from tests.support.sessions import header

# Any text but lone surrogates, which are no text in JSON.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
st.register_type_strategy(str, texts)
st.register_type_strategy(int, st.integers(0, 10**9))
st.register_type_strategy(float, st.floats(0, 1000, allow_nan=False))
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
for part in (Text, Thinking, ToolCall):
    st.register_type_strategy(part, st.builds(part, extra=st.dictionaries(texts, plain, max_size=2)))
made: dict[type, st.SearchStrategy[Any]] = {
    lines.Result: st.builds(lines.Result, metadata=st.dictionaries(texts, plain, max_size=3))
}
records = st.sampled_from(sorted({*lines.RECORDS.values()} - {lines.Header}, key=str)).flatmap(
    lambda kind: made.get(kind, st.from_type(kind))
)


def written(path: Path, *records: lines.Record) -> list[dict[str, Any]]:
    with Journal(path, lambda text: text.replace("s3cret", "[masked]")) as journal:
        journal.write(header())
        for record in records:
            journal.write(record)
    return [json.loads(row) for row in path.read_text("utf-8").splitlines()]


@settings(max_examples=10, deadline=None)
@given(st.lists(records, max_size=12))
def test_every_kind_of_line_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, kept: list[lines.Record]
):
    path = tmp_path_factory.mktemp("journal") / "journal.jsonl"
    with Journal(path, str) as journal:
        journal.write(header())
        for record in kept:
            journal.write(record)
    file = read_journal(path)
    assert file.header == header()
    assert [line.record for line in file.lines] == kept
    assert [type(line.record) for line in file.lines] == [type(record) for record in kept]
    assert not file.unread


def test_every_kind_of_part_has_a_name():
    assert set(PARTS.values()) == set(get_args(Part))


def test_each_line_names_its_kind_and_leaves_out_what_is_at_its_default(tmp_path: Path):
    rows = written(tmp_path / "j", lines.Result(1, "a", "echo", "hi"))
    assert rows[0]["type"] == "header"
    assert {key: value for key, value in rows[1].items() if key != "at"} == {
        "type": "result",
        "turn": 1,
        "call_id": "a",
        "name": "echo",
        "content": "hi",
    }


def test_secrets_are_masked_in_every_string(tmp_path: Path):
    metadata = {"s3cret key": ["a s3cret", {"deep": "s3cret"}], "n": 1}
    rows = written(
        tmp_path / "j",
        lines.Result(1, "a", "bash", 'quote " and s3cret', metadata=metadata),
        lines.Response(1, (ToolCall("a", "bash", '{"x": "s3cret"}'),), "tool_use", ""),
        lines.Note("nothing to hide"),
    )
    assert "s3cret" not in (tmp_path / "j").read_text()
    assert rows[1]["content"] == 'quote " and [masked]'


def test_secrets_are_masked_in_file_contents_also_where_these_are_no_text(tmp_path: Path):
    content = b"\xff\x00 s3cret \xfe"
    change = lines.FileVersion("x", None, "b" * 64, content=content, before_content=b"old s3cret")
    written(tmp_path / "j", lines.FilesChanged(1, (change,)))
    file = next(read_journal(tmp_path / "j").records(lines.FilesChanged)).files[0]
    assert file.content == b"\xff\x00 [masked] \xfe"
    assert file.before_content == b"old [masked]"


def test_a_redactor_that_breaks_quotes_cannot_break_a_line(tmp_path: Path):
    with Journal(tmp_path / "j", lambda text: text.replace("x", '"}\n{"')) as journal:
        journal.write(header())
        journal.write(lines.Note("a x b"))
    assert next(read_journal(tmp_path / "j").records(lines.Note)).text == 'a "}\n{" b'


def test_what_is_no_json_is_written_as_text(tmp_path: Path):
    nested: list[Any] = []
    for _ in range(500):
        nested = [nested]
    metadata = {"nan": float("nan"), "deep": nested}
    written(tmp_path / "j", lines.Result(1, "a", "x", "lone \ud800 surrogate", metadata=metadata))
    result = next(read_journal(tmp_path / "j").records(lines.Result))
    assert result.content == "lone ? surrogate"
    assert result.metadata["nan"] == "nan"
    assert "too deeply" in json.dumps(result.metadata["deep"])


@pytest.mark.parametrize("missing", [1, 5, 20])
def test_a_cut_last_line_is_left_out_and_named(tmp_path: Path, missing: int):
    written(tmp_path / "j", lines.Note("one"), lines.Note("two"))
    data = (tmp_path / "j").read_bytes()
    file = parse_journal(data[: -1 - missing], "run.jsonl")
    assert [line.record for line in file.lines] == [lines.Note("one")]
    assert file.damage == "1 line of the journal could not be read and left out: 3."


def test_a_journal_without_its_last_newline_is_whole(tmp_path: Path):
    written(tmp_path / "j", lines.Note("one"))
    file = parse_journal((tmp_path / "j").read_bytes()[:-1], "run.jsonl")
    assert (len(file.lines), file.unread) == (1, ())


def test_a_newer_schema_is_refused_in_one_sentence(tmp_path: Path):
    with Journal(tmp_path / "j", str) as journal:
        journal.write(header(schema=99, version="9.0"))
    with pytest.raises(UsageError, match=r"Slash Agent 9\.0 in journal schema 99.*install a newer one"):
        read_journal(tmp_path / "j")


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (b"", "is not JSON"),
        (b"not json", "is not JSON"),
        (b"[1]", "no type"),
        (b'{"type": "note", "text": "x"}', "is no header"),
        (b'{"type": "header"}', "schema"),
    ],
)
def test_a_file_without_a_header_is_refused(first: bytes, said: str):
    with pytest.raises(UsageError, match=said):
        parse_journal(first, "run.jsonl")


@pytest.mark.parametrize(
    "row",
    [
        b"not json",
        b"[1]",
        b'{"type": "magic"}',
        b'{"type": ["note"]}',
        b'{"type": "note", "at": "soon", "text": "x"}',
        b'{"type": "note"}',
        b'{"type": "note", "text": "x", "more": 1}',
        b'{"type": "response", "turn": 1, "finish": "x", "raw_reason": "", "parts": [{"type": "img"}]}',
        b'{"type": "files", "turn": 1, "files": [{"path": "x", "content": {"base64": "?"}}]}',
        b"[" * 100_000,
    ],
)
def test_a_line_that_cannot_be_read_is_left_out_and_counted(tmp_path: Path, row: bytes):
    written(tmp_path / "j", lines.Note("one"))
    file = parse_journal((tmp_path / "j").read_bytes() + row + b"\n", "run.jsonl")
    assert ([line.record for line in file.lines], file.unread) == ([lines.Note("one")], (3,))


def test_a_missing_journal_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"none\.jsonl cannot be read"):
        read_journal(tmp_path / "none.jsonl")


def test_a_journal_never_overwrites_a_file_or_follows_a_link(tmp_path: Path):
    (tmp_path / "there").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for name in ("there", "link"):
        with pytest.raises(JournalError, match=name):
            Journal(tmp_path / name, str)
    assert (tmp_path / "there").read_text() == "kept"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("first", [lines.Note("x"), lines.RequestSent(1, 1)])
def test_the_header_comes_first(tmp_path: Path, first: lines.Record):
    with Journal(tmp_path / "j", str) as journal, pytest.raises(ValueError, match="header"):
        journal.write(first)


FULL_IN_A_RUN = """
import resource, signal, sys
from pathlib import Path
from tests.support.scripted import call, says
from tests.support.sessions import Bench
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
script = [says(call("echo", '{"text": "%s"}' % ("x" * 500), f"c{n}")) for n in range(50)]
bench = Bench(script, Path(sys.argv[1]))
end = bench.run()
print(end.stop.value, "|", end.reason)
"""


def test_a_full_disk_ends_the_run_with_one_sentence(tmp_path: Path):
    command = [sys.executable, "-c", FULL_IN_A_RUN, str(tmp_path)]
    root = Path(__file__).parents[2]
    said = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, cwd=root, timeout=240, check=True
    ).stdout
    assert said.startswith("error | The journal ")
    assert said.endswith("cannot be written: File too large.\n")
    assert list(read_journal(tmp_path / "journal.jsonl").records(lines.Result))


def test_only_its_owner_may_read_a_journal(tmp_path: Path):
    written(tmp_path / "j")
    assert (tmp_path / "j").stat().st_mode & 0o777 == 0o600
