"""Patches with the tree before and the tree after, or what the refusal says: those of the format's first tool by their
numbers there, where ours differ in that nothing is ever written in part or over something, and further ones."""

Tree = dict[str, bytes]


def wrapped(operations: str) -> str:
    return f"*** Begin Patch\n{operations}\n*** End Patch"


def update(path: str, sections: str) -> str:
    return wrapped(f"*** Update File: {path}\n{sections}")


SCENARIOS: dict[str, tuple[Tree, str, Tree | str]] = {
    "001_add_file": (
        {"foo.md": b"foo\n"}, wrapped("*** Add File: bar.md\n+This is a new file"),
        {"foo.md": b"foo\n", "bar.md": b"This is a new file\n"},
    ),
    "002_multiple_operations": (
        {"modify.txt": b"line1\nline2\n", "delete.txt": b"obsolete\n"},
        wrapped("*** Add File: nested/new.txt\n+created\n*** Delete File: delete.txt\n*** Update File: modify.txt\n@@\n"
            "-line2\n+changed"), {"modify.txt": b"line1\nchanged\n", "nested/new.txt": b"created\n"},
    ),
    "003_multiple_chunks": (
        {"multi.txt": b"line1\nline2\nline3\nline4\n"},
        update("multi.txt", "@@\n-line2\n+changed2\n@@\n-line4\n+changed4"),
        {"multi.txt": b"line1\nchanged2\nline3\nchanged4\n"},
    ),
    "004_move_to_new_directory": (
        {"old/name.txt": b"old content\n", "old/other.txt": b"stays\n"},
        wrapped("*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-old content\n+new content"),
        {"old/other.txt": b"stays\n", "renamed/dir/name.txt": b"new content\n"},
    ),
    "005_rejects_empty_patch": ({}, "*** Begin Patch\n*** End Patch", "no files were modified"),
    "006_rejects_missing_context": (
        {"modify.txt": b"line1\nline2\n"}, update("modify.txt", "@@\n-missing\n+changed"),
        "line 3, modify.txt: its lines are not in the file",
    ),
    "007_rejects_missing_file_delete": (
        {}, wrapped("*** Delete File: missing.txt"), "line 2, missing.txt: missing.txt does not exist",
    ),
    "008_rejects_empty_update_hunk": (
        {"foo.txt": b"a\n"}, wrapped("*** Update File: foo.txt"),
        "line 2, foo.txt: an update needs at least one section",
    ),
    "009_requires_existing_file_for_update": (
        {}, update("missing.txt", "@@\n-old\n+new"), "missing.txt does not exist",
    ),
    "010_move_overwrites_existing_destination": (
        {"old/name.txt": b"from\n", "renamed/dir/name.txt": b"existing\n"},
        wrapped("*** Update File: old/name.txt\n*** Move to: renamed/dir/name.txt\n@@\n-from\n+new"),
        "renamed/dir/name.txt, is taken",
    ),
    "011_add_overwrites_existing_file": (
        {"duplicate.txt": b"old content\n"}, wrapped("*** Add File: duplicate.txt\n+new content"),
        "duplicate.txt is there already",
    ),
    "012_delete_directory_fails": ({"dir/a.txt": b"a\n"}, wrapped("*** Delete File: dir"), "dir is a folder"),
    "013_rejects_invalid_hunk_header": (
        {"foo.txt": b"a\n"}, wrapped("*** Frobnicate File: foo"),
        'Valid are "*** Add File: PATH", "*** Delete File: PATH", "*** Update File: PATH"',
    ),
    "014_update_file_appends_trailing_newline": (
        {"no_newline.txt": b"no newline at end"},
        update("no_newline.txt", "@@\n-no newline at end\n+first line\n+second line"),
        {"no_newline.txt": b"first line\nsecond line\n"},
    ),
    "016_pure_addition_update_chunk": (
        {"input.txt": b"line1\nline2\n"}, update("input.txt", "@@\n+added line 1\n+added line 2"),
        {"input.txt": b"line1\nline2\nadded line 1\nadded line 2\n"},
    ),
    "017_whitespace_padded_hunk_header": (
        {"foo.txt": b"old\n"}, wrapped("  *** Update File: foo.txt\n@@\n-old\n+new"), {"foo.txt": b"new\n"},
    ),
    "changes between, and lines at the end": (
        {"a.txt": b"a\nb\nc\nd\ne\nf\n"},
        update("a.txt", "@@\n a\n-b\n+B\n@@\n c\n d\n-e\n+E\n@@\n f\n+g\n*** End of File"),
        {"a.txt": b"a\nB\nc\nd\nE\nf\ng\n"},
    ),
    "dashes that look alike": (
        {"a.py": "import asyncio  # local import – avoids top‑level dep\n".encode()},
        update("a.py", "@@\n-import asyncio  # local import - avoids top-level dep\n+import asyncio"),
        {"a.py": b"import asyncio\n"},
    ),
    "CRLF kept, with a blank line put in": (
        {"a.txt": b"one\r\ntwo\r\n"}, update("a.txt", "@@\n one\n+\n two"), {"a.txt": b"one\r\n\r\ntwo\r\n"},
    ),
    "a patch in CRLF": (
        {"a.txt": b"one\r\ntwo\r\n", "b.txt": b"one\n"},
        ("*** Begin Patch\r\n*** Update File: a.txt\r\n@@\r\n one\r\n+half\r\n two\r\n*** Update File: b.txt\r\n"
        "-one\r\n+1\r\n*** Add File: c.txt\r\n+c\r\n*** End Patch\r\n"),
        {"a.txt": b"one\r\nhalf\r\ntwo\r\n", "b.txt": b"1\n", "c.txt": b"c\n"},
    ),
    "mixed line ends of untouched lines": (
        {"a.txt": b"one\r\ntwo\nthree\r\n"}, update("a.txt", "@@\n one\n-two\n+2\n+2b\n three"),
        {"a.txt": b"one\r\n2\r\n2b\r\nthree\r\n"},
    ),
    "more lines than the file has": (
        {"a.txt": b"one\n"}, update("a.txt", "@@\n zero\n one\n-two\n+2\n*** End of File"),
        "it wants 3 lines and the file has 1",
    ),
    "lines to add after an anchor": (
        {"a.py": b"class A:\n    x = 1\n\nclass B:\n    x = 1\n"}, update("a.py", "@@ class B:\n+    y = 2"),
        {"a.py": b"class A:\n    x = 1\n\nclass B:\n    y = 2\n    x = 1\n"},
    ),
    "an anchor that is repeated as context": (
        {"a.py": b"def f():\n    return 1\n"},
        update("a.py", "@@ def f():\n def f():\n-    return 1\n+    return 2"),
        {"a.py": b"def f():\n    return 2\n"},
    ),
    "an anchor that is not there": (
        {"a.py": b"def function():\n    return 1\n    return 1\n"},
        update("a.py", "@@ def functions():\n-    return 1\n+    return 2"),
        'there is no line "def functions():" after the places before it. Alike are\n1|def function():',
    ),
    "two places": (
        {"a.py": b"x = 1\ny = 2\nx = 1\n"}, update("a.py", "@@\n-x = 1\n+x = 2"),
        "this section fits at several places (lines 1, 3)",
    ),
    "the second place is the only one after the first section": (
        {"a.py": b"x = 1\ny = 2\nz = 3\nx = 1\n"}, update("a.py", "@@\n x = 1\n-y = 2\n+y = 3\n@@\n-x = 1\n+x = 2"),
        {"a.py": b"x = 1\ny = 3\nz = 3\nx = 2\n"},
    ),
    "the end-of-file marker where the lines are elsewhere": (
        {"a.txt": b"one\ntwo\n"}, update("a.txt", "@@\n-one\n+1\n*** End of File"),
        "earlier sections, nor at the end of the file: leave",
    ),
    "spaces at line ends": (
        {"a.txt": b"one  \ntwo\n"}, update("a.txt", "@@\n one\n-two\n+2"), {"a.txt": b"one  \n2\n"},
    ),
    "indentation that differs from line to line": (
        {"a.py": b"class A:\n    def f(self):\n        return 1\n"},
        update("a.py", "@@\n def f(self):\n-      return 1\n+      return 2"),
        "Closest is line 2\n2|    def f(self):",
    ),
    "a last line without an end that gets a line after it": (
        {"a.txt": b"one\ntwo"}, update("a.txt", "@@\n two\n+three"), {"a.txt": b"one\ntwo\nthree\n"},
    ),
    "a move and nothing else": (
        {"a.txt": b"one\n"}, wrapped("*** Update File: a.txt\n*** Move to: b.txt"), {"b.txt": b"one\n"},
    ),
    "update and update of one file": (
        {"a.txt": b"one\ntwo\n"},
        wrapped("*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: a.txt\n@@\n 1\n-two\n+2"),
        {"a.txt": b"1\n2\n"},
    ),
    "add and update of one file": (
        {}, wrapped("*** Add File: a.txt\n+one\n*** Update File: a.txt\n@@\n-one\n+1"), {"a.txt": b"1\n"},
    ),
    "move and update under the new name": (
        {"a.txt": b"one\n"},
        wrapped("*** Update File: a.txt\n*** Move to: b.txt\n*** Update File: b.txt\n@@\n-one\n+1"),
        {"b.txt": b"1\n"},
    ),
    "add and delete of one file": (
        {}, wrapped("*** Add File: a.txt\n+one\n*** Delete File: a.txt"),
        "is added or moved here by this patch, so it cannot be deleted in it",
    ),
    "delete and add of one file": (
        {"a.txt": b"one\n"}, wrapped("*** Delete File: a.txt\n*** Add File: a.txt\n+1"),
        "is deleted by this patch, so it cannot be added",
    ),
    "an update of what was moved away": (
        {"a.txt": b"one\n"},
        wrapped("*** Update File: a.txt\n*** Move to: b.txt\n*** Update File: a.txt\n@@\n-one\n+1"),
        "line 4, a.txt: the file is moved to b.txt by this patch",
    ),
    "a patch that changes nothing": (
        {"a.txt": b"one\n"}, update("a.txt", "@@\n-one\n+one"), "The patch changes nothing",
    ),
    "a path outside": ({}, wrapped("*** Add File: ../a.txt\n+one"), "is outside the repository"),
    "a Markdown fence": (
        {"a.txt": b"one\n"}, "```patch\n*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n```\n",
        {"a.txt": b"1\n"},
    ),
    "cut off": (
        {"a.txt": b"one\n"}, "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1",
        'and the last one "*** End Patch"',
    ),
    "a body without prefixes": (
        {"a.py": b"def f():\n"}, update("a.py", "@@\ndef f():\n    pass"),
        'a line must begin with a space (kept), - (removed) or + (added), not with "def f():"',
    ),
    "a line of a new file without a plus": (
        {}, wrapped("*** Add File: a.py\n+def f():\n    pass"),
        'line 4, a.py: a line of a new file must begin with "+", not with "    pass"',
    ),
    # Sections in any order, parts of lines, and anchors that repeat those of the section before.
    "sections in any order": (
        {"a.py": b"class A:\n    a = 1\n    b = 2\nclass B:\n    c = 3\n"},
        update("a.py", "@@ class B:\n-    c = 3\n+    c = 4\n"
            "@@ class A:\n-    b = 2\n+    b = 3\n@@\n-    a = 1\n+    z = 0"),
        {"a.py": b"class A:\n    z = 0\n    b = 3\nclass B:\n    c = 4\n"},
    ),
    "two sections with one line": (
        {"a.txt": b"one\ntwo\nthree\n"}, update("a.txt", "@@\n one\n-two\n+2\n@@\n-two\n three"),
        "its lines are at line 2, but not below the line after @@ and apart from earlier sections",
    ),
    "lines above their anchor": (
        {"a.txt": b"one\ntwo\nthree\n"}, update("a.txt", "@@ two\n-one\n+1"),
        "its lines are at line 1, but not below the line after @@",
    ),
    **{
        f"lines that are there once, after {anchor}": (
            {"a.py": b"def first():\n    x = 1\ndef f_second():\n    y = 2\n"},
            update("a.py", f"@@ {anchor}\n-    y = 2\n+    y = 3"),
            {"a.py": b"def first():\n    x = 1\ndef f_second():\n    y = 3\n"},
        )
        for anchor in ("def f", "class Missing", "def first")
    },
    "a part of a line that is there once": (
        {"a.py": b"def f(a) -> int:\n    x\ndef g(a) -> int:\n    x\n"}, update("a.py", "@@ def g\n-    x\n+    y"),
        {"a.py": b"def f(a) -> int:\n    x\ndef g(a) -> int:\n    y\n"},
    ),
    "two sections under one heading": (
        {"a.py": b"class A:\n    a = 1\n    b = 2\n    c = 3\n"},
        update("a.py", "@@ class A:\n-    a = 1\n+    a = 2\n@@ class A:\n     b = 2\n-    c = 3\n+    c = 4"),
        {"a.py": b"class A:\n    a = 2\n    b = 2\n    c = 4\n"},
    ),
    "a section that goes on from the outer heading of the last": (
        {"a.py": b"class A:\n    def f():\n        a\n    def g():\n        a\n"},
        update("a.py", "@@ class A:\n@@     def f():\n-        a\n+        b\n"
            "@@ class A:\n@@     def g():\n-        a\n+        c"),
        {"a.py": b"class A:\n    def f():\n        b\n    def g():\n        c\n"},
    ),
    "an anchor in the context of the section before, as git writes it": (
        {"a.py": b"def f():\n    a\n\ndef g():\n    x\n    c\n    d\n\ndef h():\n    x\n"},
        update("a.py", "@@ def f():\n-    a\n+    A\n \n def g():\n     x\n@@ def g():\n     c\n-    d\n+    D"),
        {"a.py": b"def f():\n    A\n\ndef g():\n    x\n    c\n    D\n\ndef h():\n    x\n"},
    ),
    "a hunk of a unified diff that does not fit": (
        {"a.txt": b"one\ntwo\n"}, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-tow\n+2\n",
        "- line 3, a.txt: its lines are not in the file. Closest is line 1",
    ),
    "what is applied already": (
        {"a.txt": b"zero\nnew\n"}, update("a.txt", "@@\n-old\n+new"),
        "what it makes of them is, at line 2: it may be applied already",
    ),
}  # fmt: skip
