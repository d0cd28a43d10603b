"""Writes loose git objects and trees without a process; git's own commands cost milliseconds each."""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path

_TREE_MODE = "40000"

# The entries of a folder: a file is its mode and blob id.
Folder = dict[str, "Folder | tuple[str, str]"]


def write_object(git_dir: Path, kind: str, content: bytes) -> str:
    """Store an object and return its id. `kind` is blob, tree or commit."""
    data = b"%s %d\0%s" % (kind.encode(), len(content), content)
    sha = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    path = git_dir / "objects" / sha[:2] / sha[2:]
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        descriptor, scratch = tempfile.mkstemp(dir=path.parent, prefix="tmp_obj_")
        with os.fdopen(descriptor, "wb") as file:
            file.write(zlib.compress(data, 1))
        os.chmod(scratch, 0o444)
        os.replace(scratch, path)
    return sha


def nested(files: Mapping[str, tuple[str, str]]) -> Folder:
    """The folders of `files`, which maps paths to modes and ids. A later path replaces what it conflicts with."""
    root: Folder = {}
    for path, (mode, sha) in files.items():
        *parents, name = path.split("/")
        folder = root
        for parent in parents:
            inner = folder.get(parent)
            if not isinstance(inner, dict):
                inner = folder[parent] = {}
            folder = inner
        folder[name] = (mode, sha)
    return root


def write_tree(git_dir: Path, folder: Folder) -> str:
    """Store a folder's trees and return the id of the outermost. Folders without files are left out."""
    rows = []
    for name, entry in folder.items():
        if isinstance(entry, dict):
            if not entry:
                continue
            # Git sorts a folder as if its name ended in a slash.
            rows.append((f"{name}/".encode(errors="surrogateescape"), _TREE_MODE, write_tree(git_dir, entry)))
        else:
            rows.append((name.encode(errors="surrogateescape"), *entry))
    content = b"".join(
        b"%s %s\0%s" % (mode.encode(), name.removesuffix(b"/"), bytes.fromhex(sha))
        for name, mode, sha in sorted(rows)
    )
    return write_object(git_dir, "tree", content)
