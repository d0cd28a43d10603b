"""Files for tests, with the folders that they lie in."""

from collections.abc import Mapping
from pathlib import Path


def write_file(path: Path, content: str | bytes = "", mode: int | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    if mode is not None:
        path.chmod(mode)
    return path


def write_files(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for name, content in files.items():
        write_file(folder / name, content)
    return folder
