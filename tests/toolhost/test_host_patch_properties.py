"""Any patch made from two trees applies to the first and gives the second; any other text applies wholly or leaves the
tree as it was."""

import os
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
from bot.toolhost.encoding import Text
from bot.toolhost.patch.grammar import parse
from bot.toolhost.patch.overlay import Draft
from bot.toolhost.tools import patch as patch_tool
from tests.support.files import write_file
from tests.toolhost.test_host_patch import snapshot

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
