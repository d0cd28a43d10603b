"""Properties: no byte outside the replaced span ever changes, whatever the file. Any patch made from two trees applies
to the first and gives the second; any other text applies wholly or leaves the tree as it was."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import unified_diff
from pathlib import Path
from tempfile import mkdtemp

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.contracts.tools import Answer, ToolFailure, ToolOutcome
from bot.toolhost.context import Context, Records
from bot.toolhost.diff import compare
from bot.toolhost.encoding import Text, decode, encode, split_lines, to_lf
from bot.toolhost.patch.grammar import parse
from bot.toolhost.patch.overlay import Draft
from bot.toolhost.text_replacement import find, find_near_miss, replace
from bot.toolhost.tools import patch as patch_tool
from tests.support.files import write_file
from tests.toolhost.test_host_patch import snapshot

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


# Few lines, so that many are equal; some look like the format's own.
LINE = st.sampled_from(
    ["a", "b", "  b", "", "@@ a", "*** End Patch", "*** Update File: x", "+a", "-b", " c", "ü\u2028", "\x0c"]
)
TEXT = st.lists(LINE, max_size=9)
NAME = st.sampled_from(["a.txt", "b.txt", "d/c.txt", "d/e/f.txt"])
TREE = st.dictionaries(NAME, TEXT, max_size=4)
ENDS = st.sampled_from(["\n", "\r\n"])
SETTINGS = settings(max_examples=60, deadline=None)


@contextmanager
def workspace(tree: dict[str, bytes]) -> Iterator[Context]:
    """A fixture would be one for all examples."""
    folder = Path(mkdtemp(prefix="patch-"))
    try:
        for name in ("tree", "tmp", "spill"):
            (folder / name).mkdir()
        for number, (name, content) in enumerate(sorted(tree.items())):
            path = folder / "tree" / name
            write_file(path, content, (0o644, 0o755, 0o600)[number % 3])
        yield Context(
            root=folder / "tree", tmp=folder / "tmp", spill=folder / "spill", environment={"PATH": os.environ["PATH"]},
            ask=lambda *question: Answer(True), records=Records(),
            assume_read=True,
        )  # fmt: skip
    finally:
        shutil.rmtree(folder)


def run(context: Context, patch: str) -> ToolOutcome:
    return patch_tool.run(context, patch)


def joined(lines: list[str], end: str = "\n") -> bytes:
    return "".join(line + end for line in lines).encode()


def update(old: list[str], new: list[str], around: int) -> list[str]:
    """The sections that make `new` of `old`."""
    return list(unified_diff(old, new, n=around, lineterm=""))[2:]


def patch_between(before: dict[str, list[str]], after: dict[str, list[str]], around: int) -> str:
    rows = ["*** Begin Patch"]
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            rows.append(f"*** Delete File: {name}")
        elif name not in before:
            rows += [f"*** Add File: {name}", *("+" + line for line in after[name])]
        elif before[name] != after[name]:
            rows += [f"*** Update File: {name}", *update(before[name], after[name], around)]
    return "\n".join([*rows, "*** End Patch"]) + "\n"


@SETTINGS
@given(TREE, TREE, ENDS, st.integers(0, 3))
def test_a_patch_between_two_trees_makes_the_second_of_the_first(
    before: dict[str, list[str]], after: dict[str, list[str]], end: str, around: int
):
    ends = {name: end if lines else "\n" for name, lines in before.items()}
    with workspace({name: joined(lines, ends[name]) for name, lines in before.items()}) as context:
        if before != after:
            run(context, patch_between(before, after, around))
        found = {name: content for name, (content, mode) in snapshot(context.root).items() if mode & 0o100000}
        assert found == {name: joined(lines, ends.get(name, "\n")) for name, lines in after.items()}


@st.composite
def mutated(draw: st.DrawFn) -> tuple[dict[str, list[str]], str]:
    """A tree, and a patch of it with lines taken out, doubled, exchanged or changed."""
    before, after = draw(TREE), draw(TREE)
    rows = patch_between(before, after, draw(st.integers(0, 2))).split("\n")
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(rows) - 1))
        kind = draw(st.sampled_from(["out", "twice", "swap", "change", "cut"]))
        if kind == "out" and len(rows) > 1:
            del rows[at]
        elif kind == "twice":
            rows.insert(at, rows[at])
        elif kind == "swap":
            other = draw(st.integers(0, len(rows) - 1))
            rows[at], rows[other] = rows[other], rows[at]
        elif kind == "change":
            rows[at] = (
                draw(st.sampled_from([" ", "-", "+", "@@ ", "*** Move to: z.txt", "*** Add File: d", "\r"]))
                + rows[at]
            )
        else:
            rows[at] = rows[at][: draw(st.integers(0, len(rows[at])))]
    return before, "\n".join(rows)


@SETTINGS
@given(mutated())
def test_any_mutation_of_a_patch_applies_wholly_or_leaves_the_tree_as_it_was(
    mutation: tuple[dict[str, list[str]], str],
):
    before, patch = mutation
    with workspace({name: joined(lines) for name, lines in before.items()}) as context:
        was = snapshot(context.root)
        try:
            outcome = run(context, patch)
        except ToolFailure:
            assert snapshot(context.root) == was
            return
        now = snapshot(context.root)
        named = {file["path"]: file for file in outcome.metadata["files"]}
        changed = {name for name in was.keys() | now.keys() if was.get(name) != now.get(name)}
        assert {name for name in changed if (now.get(name) or was[name])[1] & 0o100000} == named.keys()
        for name, file in named.items():
            assert (name in now) == (file["after_hash"] is not None)
            if name in was and name in now:
                assert now[name][1] == was[name][1]


@SETTINGS
@given(st.text(st.sampled_from("*+-@ abEBdP\n\r"), max_size=60))
def test_the_parser_says_what_is_wrong_and_never_breaks(text: str):
    for patch in (text, f"*** Begin Patch\n{text}\n*** End Patch"):
        try:
            assert parse(patch)
        except ToolFailure as failure:
            assert "Nothing was written" in str(failure)


@SETTINGS
@given(st.text(st.sampled_from("ab\n\r"), max_size=20))
def test_a_file_is_its_lines_and_their_ends(content: str):
    assert Draft(Text(content)).text.content == content
