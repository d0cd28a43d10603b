"""Properties: no byte outside the replaced span ever changes, whatever the file."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bot.toolhost.diff import compare
from bot.toolhost.encoding import decode, encode, split_lines, to_lf
from bot.toolhost.text_replacement import find, find_near_miss, replace

LINES = st.text(alphabet="ab \t\r\n", max_size=30)


@given(st.binary(max_size=200))
def test_bytes_survive_decoding_and_encoding(data: bytes):
    if (text := decode(data)) is None:
        return
    assert encode(text, text.content) == data


@given(LINES, st.text(alphabet="ab\n", min_size=1, max_size=4))
def test_overlapping_occurrences_are_all_found(content: str, wanted: str):
    lf = to_lf(content)
    expected = [m.start() for m in re.finditer(f"(?={re.escape(wanted)})", lf)]
    assert [len(to_lf(content[:start])) for start, _ in find(content, wanted)] == expected


@st.composite
def places(draw: st.DrawFn) -> tuple[list[str], str]:
    """A file as the list of what each character of its LF text is in the file, and a piece of that text."""
    characters = draw(st.lists(st.sampled_from(["a", "b", " ", "\n", "\r\n"]), min_size=1, max_size=30))
    lf = "".join(characters).replace("\r\n", "\n")
    start = draw(st.integers(0, len(lf) - 1))
    return characters, lf[start : draw(st.integers(start + 1, len(lf)))]


@given(places(), st.text(alphabet="xy\n", max_size=6))
def test_a_replacement_changes_one_span_and_nothing_else(place: tuple[list[str], str], new: str):
    characters, old = place
    content = "".join(characters)
    spans = find(content, old)
    start, end = spans[0]
    replaced = replace(content, spans, new)
    head, tail = content[:start], content[end:]
    assert to_lf(content[start:end]) == old
    assert replaced.content.startswith(head)
    assert replaced.content.endswith(tail)
    assert to_lf(replaced.content[len(head) : len(replaced.content) - len(tail)]) == new
    assert replaced.first_line == head.count("\n") + 1
    assert replaced.last_line == replaced.first_line + new.removesuffix("\n").count("\n")


@given(places(), st.text(alphabet="xy\n", max_size=4))
def test_replacing_everywhere_is_what_str_replace_does(place: tuple[list[str], str], new: str):
    characters, old = place
    content = "".join(characters)
    after = replace(content, find(content, old), new, everywhere=True)
    assert to_lf(after.content) == to_lf(content).replace(old, new)
    assert after.spans == to_lf(content).count(old)


@given(LINES, LINES)
def test_a_diff_turns_the_old_text_into_the_new(old: str, new: str):
    diff = compare(old, new, "a")
    assert _patched(old, diff.text) == new
    assert diff.additions - diff.removals == len(_lines(new)) - len(_lines(old))


def _patched(old: str, diff: str) -> str:
    """What the diff makes of `old`, whose lines it must name."""
    lines, new, at = _lines(old), list[str](), 0
    for row in re.findall(r"[^\n]*\n(?:\\ No newline at end of file\n)?", diff)[2:]:
        if row.startswith("@@"):
            first, count = map(int, re.findall(r"\d+", row)[:2])
            start = first - 1 if count else first
            new, at = [*new, *lines[at:start]], start
            continue
        text = row[1:].removesuffix("\n\\ No newline at end of file\n")
        if row[0] != "+":
            assert lines[at] == text
            at += 1
        if row[0] != "-":
            new.append(text)
    return "".join([*new, *lines[at:]])


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


@given(LINES, LINES)
def test_looking_for_a_near_miss_never_fails_and_stays_in_the_file(content: str, old: str):
    lf = to_lf(content)
    near = find_near_miss(split_lines(lf), split_lines(old))
    if near is not None:
        assert 1 <= near[0] <= len(split_lines(lf))
