"""Patches with the tree before and the tree after, or what the refusal says: those of the format's first tool by their
numbers there, where ours differ in that nothing is ever written in part or over something, and further ones."""

from __future__ import annotations

Tree = dict[str, bytes]

SCENARIOS: dict[str, tuple[Tree, str, Tree | str]] = {
    "001_add_file": (
        {"foo.md": b"foo\n"},
        "*** Begin Patch\n*** Add File: bar.md\n+This is a new file\n*** End Patch",
        {"foo.md": b"foo\n", "bar.md": b"This is a new file\n"},
    ),
    "002_multiple_operations": (
        {"modify.txt": b"line1\nline2\n", "delete.txt": b"obsolete\n"},
        ("*** Begin Patch\n*** Add File: nested/new.txt\n+created\n*** Delete File: delete.txt\n"
        "*** Update File: modify.txt\n@@\n-line2\n+changed\n*** End Patch"),
        {"modify.txt": b"line1\nchanged\n", "nested/new.txt": b"created\n"},
    ),
    "003_multiple_chunks": (
        {"multi.txt": b"line1\nline2\nline3\nline4\n"},
        ("*** Begin Patch\n*** Update File: multi.txt\n@@\n-line2\n+changed2\n@@\n-line4\n+changed4\n"
        "*** End Patch"),
        {"multi.txt": b"line1\nchanged2\nline3\nchanged4\n"},
    ),
    "004_move_to_new_directory": (
        {"old/name.txt": b"old content\n", "old/other.txt": b"stays\n"},
        ("*** Begin Patch\n*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-old content\n"
        "+new content\n*** End Patch"),
        {"old/other.txt": b"stays\n", "renamed/dir/name.txt": b"new content\n"},
    ),
    "005_rejects_empty_patch": ({}, "*** Begin Patch\n*** End Patch", "no files were modified"),
    "006_rejects_missing_context": (
        {"modify.txt": b"line1\nline2\n"},
        "*** Begin Patch\n*** Update File: modify.txt\n@@\n-missing\n+changed\n*** End Patch",
        "line 3, modify.txt: its lines are not in the file",
    ),
    "007_rejects_missing_file_delete": (
        {},
        "*** Begin Patch\n*** Delete File: missing.txt\n*** End Patch",
        "line 2, missing.txt: missing.txt does not exist",
    ),
    "008_rejects_empty_update_hunk": (
        {"foo.txt": b"a\n"},
        "*** Begin Patch\n*** Update File: foo.txt\n*** End Patch",
        "line 2, foo.txt: an update needs at least one section",
    ),
    "009_requires_existing_file_for_update": (
        {},
        "*** Begin Patch\n*** Update File: missing.txt\n@@\n-old\n+new\n*** End Patch",
        "missing.txt does not exist",
    ),
    "010_move_overwrites_existing_destination": (
        {"old/name.txt": b"from\n", "renamed/dir/name.txt": b"existing\n"},
        ("*** Begin Patch\n*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-from\n+new\n"
        "*** End Patch"),
        "renamed/dir/name.txt, is taken",
    ),
    "011_add_overwrites_existing_file": (
        {"duplicate.txt": b"old content\n"},
        "*** Begin Patch\n*** Add File: duplicate.txt\n+new content\n*** End Patch",
        "duplicate.txt is there already",
    ),
    "012_delete_directory_fails": (
        {"dir/a.txt": b"a\n"},
        "*** Begin Patch\n*** Delete File: dir\n*** End Patch",
        "dir is a folder",
    ),
    "013_rejects_invalid_hunk_header": (
        {"foo.txt": b"a\n"},
        "*** Begin Patch\n*** Frobnicate File: foo\n*** End Patch",
        'Valid are "*** Add File: PATH", "*** Delete File: PATH", "*** Update File: PATH"',
    ),
    "014_update_file_appends_trailing_newline": (
        {"no_newline.txt": b"no newline at end"},
        ("*** Begin Patch\n*** Update File: no_newline.txt\n@@\n-no newline at end\n+first line\n+second line\n"
        "*** End Patch"),
        {"no_newline.txt": b"first line\nsecond line\n"},
    ),
    "016_pure_addition_update_chunk": (
        {"input.txt": b"line1\nline2\n"},
        "*** Begin Patch\n*** Update File: input.txt\n@@\n+added line 1\n+added line 2\n*** End Patch",
        {"input.txt": b"line1\nline2\nadded line 1\nadded line 2\n"},
    ),
    "017_whitespace_padded_hunk_header": (
        {"foo.txt": b"old\n"},
        "*** Begin Patch\n  *** Update File: foo.txt\n@@\n-old\n+new\n*** End Patch",
        {"foo.txt": b"new\n"},
    ),
    # Further cases.
    "first section without @@": (
        {"a.txt": b"one\ntwo\n"},
        "*** Begin Patch\n*** Update File: a.txt\n one\n-two\n+2\n*** End Patch",
        {"a.txt": b"one\n2\n"},
    ),
    "changes between, and lines at the end": (
        {"a.txt": b"a\nb\nc\nd\ne\nf\n"},
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n a\n-b\n+B\n@@\n c\n d\n-e\n+E\n@@\n f\n+g\n*** End of File\n"
        "*** End Patch"),
        {"a.txt": b"a\nB\nc\nd\nE\nf\ng\n"},
    ),
    "dashes that look alike": (
        {"a.py": "import asyncio  # local import – avoids top‑level dep\n".encode()},
        ("*** Begin Patch\n*** Update File: a.py\n@@\n-import asyncio  # local import - avoids top-level dep\n"
        "+import asyncio\n*** End Patch"),
        {"a.py": b"import asyncio\n"},
    ),
    "CRLF kept, with a blank line put in": (
        {"a.txt": b"one\r\ntwo\r\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n+\n two\n*** End Patch",
        {"a.txt": b"one\r\n\r\ntwo\r\n"},
    ),
    "a patch in CRLF": (
        {"a.txt": b"one\r\ntwo\r\n", "b.txt": b"one\n"},
        ("*** Begin Patch\r\n*** Update File: a.txt\r\n@@\r\n one\r\n+half\r\n two\r\n*** Update File: b.txt\r\n"
        "-one\r\n+1\r\n*** Add File: c.txt\r\n+c\r\n*** End Patch\r\n"),
        {"a.txt": b"one\r\nhalf\r\ntwo\r\n", "b.txt": b"1\n", "c.txt": b"c\n"},
    ),
    "mixed line ends of untouched lines": (
        {"a.txt": b"one\r\ntwo\nthree\r\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n+2b\n three\n*** End Patch",
        {"a.txt": b"one\r\n2\n2b\nthree\r\n"},
    ),
    "the first of two lines that are the same but for their ends": (
        {"a.txt": b"same\r\nsame\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-same\n same\n*** End Patch",
        {"a.txt": b"same\n"},
    ),
    "an end-of-file marker before a blank line": (
        {"a.txt": b"one\ntwo\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** End of File\n\n*** End Patch",
        {"a.txt": b"one\n2\n"},
    ),
    "a blank line of context too many": (
        {"a.txt": b"one\ntwo\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n\n*** End Patch",
        {"a.txt": b"one\n2\n"},
    ),
    "more lines than the file has": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n zero\n one\n-two\n+2\n*** End of File\n*** End Patch",
        "it wants 3 lines and the file has 1",
    ),
    "context that looks like markers": (
        {"a.txt": b"*** Begin Patch\n@@ x\n*** End Patch\n*** Update File: b\n"},
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n *** Begin Patch\n @@ x\n *** End Patch\n"
        "-*** Update File: b\n+*** Delete File: c\n*** End Patch"),
        {"a.txt": b"*** Begin Patch\n@@ x\n*** End Patch\n*** Delete File: c\n"},
    ),
    "a file that holds a patch is added": (
        {},
        ("*** Begin Patch\n*** Add File: a.patch\n+*** Begin Patch\n+*** Add File: x\n++y\n+*** End Patch\n"
        "*** End Patch"),
        {"a.patch": b"*** Begin Patch\n*** Add File: x\n+y\n*** End Patch\n"},
    ),
    "lines to add after an anchor": (
        {"a.py": b"class A:\n    x = 1\n\nclass B:\n    x = 1\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@ class B:\n+    y = 2\n*** End Patch",
        {"a.py": b"class A:\n    x = 1\n\nclass B:\n    y = 2\n    x = 1\n"},
    ),
    "lines to add to an empty file": (
        {"a.txt": b""},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n+one\n*** End Patch",
        {"a.txt": b"one\n"},
    ),
    "an anchor that is repeated as context": (
        {"a.py": b"def f():\n    return 1\n"},
        ("*** Begin Patch\n*** Update File: a.py\n@@ def f():\n def f():\n-    return 1\n+    return 2\n"
        "*** End Patch"),
        {"a.py": b"def f():\n    return 2\n"},
    ),
    "an anchor that is not there": (
        {"a.py": b"def function():\n    return 1\n    return 1\n"},
        ("*** Begin Patch\n*** Update File: a.py\n@@ def functions():\n-    return 1\n+    return 2\n"
        "*** End Patch"),
        'there is no line "def functions():" after the places before it. Alike are\n1|def function():',
    ),
    "two places": (
        {"a.py": b"x = 1\ny = 2\nx = 1\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@\n-x = 1\n+x = 2\n*** End Patch",
        "this section fits at several places (lines 1, 3)",
    ),
    "two places after an anchor that is there twice": (
        {"a.py": b"def f():\n    return 1\ndef f():\n    return 1\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2\n*** End Patch",
        "this section fits at several places (lines 2, 4)",
    ),
    "the second place is the only one after the first section": (
        {"a.py": b"x = 1\ny = 2\nz = 3\nx = 1\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@\n x = 1\n-y = 2\n+y = 3\n@@\n-x = 1\n+x = 2\n*** End Patch",
        {"a.py": b"x = 1\ny = 3\nz = 3\nx = 2\n"},
    ),
    "the end-of-file marker where the lines are elsewhere": (
        {"a.txt": b"one\ntwo\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End of File\n*** End Patch",
        "earlier sections, nor at the end of the file: leave",
    ),
    "spaces at line ends": (
        {"a.txt": b"one  \ntwo\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch",
        {"a.txt": b"one  \n2\n"},
    ),
    "indentation that differs from line to line": (
        {"a.py": b"class A:\n    def f(self):\n        return 1\n"},
        ("*** Begin Patch\n*** Update File: a.py\n@@\n def f(self):\n-      return 1\n+      return 2\n"
        "*** End Patch"),
        "Closest is line 2\n2|    def f(self):",
    ),
    "UTF-16": (
        {"a.txt": "größe\nzwei\n".encode("utf-16")},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-größe\n+länge\n*** End Patch",
        {"a.txt": "länge\nzwei\n".encode("utf-16")},
    ),
    "lines that only a carriage return ends": (
        {"a.txt": b"one\rtwo\rthree\r"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n+2b\n*** End Patch",
        {"a.txt": b"one\r2\r2b\rthree\r"},
    ),
    "a last line without an end that stays so": (
        {"a.txt": b"one\ntwo"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n two\n*** End Patch",
        {"a.txt": b"1\ntwo"},
    ),
    "a last line without an end that gets a line after it": (
        {"a.txt": b"one\ntwo"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n two\n+three\n*** End Patch",
        {"a.txt": b"one\ntwo\nthree\n"},
    ),
    "a move and nothing else": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch",
        {"b.txt": b"one\n"},
    ),
    "update and update of one file": (
        {"a.txt": b"one\ntwo\n"},
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: a.txt\n@@\n 1\n-two\n+2\n"
        "*** End Patch"),
        {"a.txt": b"1\n2\n"},
    ),
    "add and update of one file": (
        {},
        "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch",
        {"a.txt": b"1\n"},
    ),
    "move and update under the new name": (
        {"a.txt": b"one\n"},
        ("*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** Update File: b.txt\n@@\n-one\n+1\n"
        "*** End Patch"),
        {"b.txt": b"1\n"},
    ),
    "update and delete of one file": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** Delete File: a.txt\n*** End Patch",
        {},
    ),
    "add and delete of one file": (
        {},
        "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Delete File: a.txt\n*** End Patch",
        "is added or moved here by this patch, so it cannot be deleted in it",
    ),
    "delete and add of one file": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Delete File: a.txt\n*** Add File: a.txt\n+1\n*** End Patch",
        "is deleted by this patch, so it cannot be added",
    ),
    "an update of what was moved away": (
        {"a.txt": b"one\n"},
        ("*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** Update File: a.txt\n@@\n-one\n+1\n"
        "*** End Patch"),
        "line 4, a.txt: the file is moved to b.txt by this patch",
    ),
    "a patch that changes nothing": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+one\n*** End Patch",
        "The patch changes nothing",
    ),
    "a path outside": (
        {},
        "*** Begin Patch\n*** Add File: ../a.txt\n+one\n*** End Patch",
        "is outside the repository",
    ),
    "a Markdown fence": (
        {"a.txt": b"one\n"},
        "```patch\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n```\n",
        {"a.txt": b"1\n"},
    ),
    "cut off": (
        {"a.txt": b"one\n"},
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1",
        'The last line must be "*** End Patch"',
    ),
    "a body without prefixes": (
        {"a.py": b"def f():\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@\ndef f():\n    pass\n*** End Patch",
        'a line must begin with a space (kept), - (removed) or + (added), not with "def f():"',
    ),
    "a line with an unknown prefix": (
        {"a.py": b"def f():\n"},
        "*** Begin Patch\n*** Update File: a.py\n@@\n-def f():\n~def g():\n*** End Patch",
        'line 5, a.py: a line must begin with a space (kept), - (removed) or + (added), not with "~def g():"',
    ),
    "a line of a new file without a plus": (
        {},
        "*** Begin Patch\n*** Add File: a.py\n+def f():\n    pass\n*** End Patch",
        'line 4, a.py: a line of a new file must begin with "+", not with "    pass"',
    ),
}  # fmt: skip
