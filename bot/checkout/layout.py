"""Create git directories: the trusted one, and the disposable one in a work tree.

Files are written directly, since `git init` costs a process and copies templates.
"""

import os
import shutil
from pathlib import Path

# Disk bytes are blob bytes: no attribute of the repository may convert, filter or run anything.
_BYTES_AS_THEY_ARE = "* -text !eol -ident -filter !working-tree-encoding"
TRUSTED_ATTRIBUTES = f"{_BYTES_AS_THEY_ARE} -diff\n"
# For the work tree's own git and the patches of the gate, in which text is diffed as text.
READABLE_ATTRIBUTES = f"{_BYTES_AS_THEY_ARE} !diff\n"

_SHA256_HEX = 64
# fsync off: the folder lives as long as the run, and syncing costs more than the rest of the checkout.
_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = {bare}
\tfilemode = true
\tsymlinks = true
\tprotectHFS = true
\tprotectNTFS = true
\tfsync = none
[gc]
\tauto = 0
[maintenance]
\tauto = false
"""
# The sandbox may show other owners and inodes than the index recorded; the files are the same.
_OF_A_TREE = """\
[core]
\tcheckStat = minimal
[user]
\tname = slash-agent
\temail = slash-agent@localhost
[commit]
\tgpgSign = false
"""
_SHA256 = "[extensions]\n\tobjectFormat = sha256\n"


def make_git_dir(
    path: Path, *, bare: bool, object_format: str, branch: str = "base", attributes: str = TRUSTED_ATTRIBUTES
) -> None:
    """Create an empty git directory at `path`. `object_format` is "sha1" or "sha256"."""
    for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "info"):
        (path / folder).mkdir(parents=True)
    (path / "HEAD").write_text(f"ref: refs/heads/{branch}\n")
    sha256 = object_format == "sha256"
    config = _CONFIG.format(version=int(sha256), bare=str(bare).lower())
    (path / "config").write_text(config + ("" if bare else _OF_A_TREE) + (_SHA256 if sha256 else ""))
    (path / "info" / "attributes").write_text(attributes)


def set_branch(git_dir: Path, branch: str, commit: str) -> None:
    """Point `refs/heads/<branch>` of a git directory that nothing else uses yet at `commit`."""
    ref = git_dir / "refs" / "heads" / branch
    ref.parent.mkdir(parents=True, exist_ok=True)
    ref.write_text(f"{commit}\n")


def copy_history(source: Path, target: Path) -> None:
    """Copy objects, tags and the shallow boundary. No links: the agent may overwrite the target."""
    for folder, _, files in os.walk(source / "objects"):
        inside = target / os.path.relpath(folder, source)
        inside.mkdir(exist_ok=True)
        for name in files:
            shutil.copyfile(os.path.join(folder, name), inside / name)
    for name in ("shallow", "packed-refs"):
        if (source / name).exists():
            shutil.copyfile(source / name, target / name)
    shutil.copytree(source / "refs" / "tags", target / "refs" / "tags", dirs_exist_ok=True)


def object_format_of(object_id: str) -> str:
    return "sha256" if len(object_id) == _SHA256_HEX else "sha1"
