"""A hostile archive that somebody attached (A-83): nothing of ours opens it."""

import io
import tarfile
from pathlib import Path

from bot.attachments.fetch import FILE_LIMITS, AttachedFiles, Fetcher, site_of
from slash_forge import Forge

REPO = "octo/hello"


def archive() -> bytes:
    """A path that leads out, a link, a device and a hundred megabytes of zeros."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, kind, size in (
            ("../../x", tarfile.REGTYPE, 0),
            ("etc", tarfile.SYMTYPE, 0),
            ("null", tarfile.CHRTYPE, 0),
            ("zeros", tarfile.REGTYPE, 100_000_000),
        ):
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, size, "/etc"
            packed.addfile(info, io.BytesIO(bytes(size)))
    return buffer.getvalue()


def test_a83_a_hostile_archive_stays_one_file(tmp_path: Path):
    data = archive()
    with Forge() as forge:
        forge.add_user("octo")
        forge.create_repository("octo", "hello")
        files = AttachedFiles(tmp_path / "attachments", Fetcher(site_of(forge.url), FILE_LIMITS))
        files.add(forge.attach_file(REPO, "octo", "logs.tar.gz", data), "the issue")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [Path(files.files[0].path)]
    assert Path(files.files[0].path).read_bytes() == data
