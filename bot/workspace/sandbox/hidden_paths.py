"""The paths that no command inside may see: credentials in folders of tools, and secret configuration of the system, of
which the folders in `ROOTS` are visible."""

import contextlib
import os
import re
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

_NAMES = tuple(
    """
    credentials credentials.toml .cargo/credentials .cargo/credentials.toml .npmrc .pypirc .netrc
    .git-credentials .gem/credentials .config/gh .docker .aws .ssh etc/npmrc etc/pip.conf pip.conf .kube
    .condarc condarc
    """.split()  # noqa: SIM905
)

_SETTINGS = re.compile(
    r"(?i)\.?\w[\w-]*rc(\.\w+)?|\.?(config|settings|auth|direct_url|nuget|history|channels?|env)(\.[\w.]+)?|fetch_head"
    r"|[\w.-]+\.(conf|ini|cfg|properties|gradle|gradle\.kts)"
)
"""Files of settings by their names, hidden only if they contain a secret."""

_SETTINGS_FOLDERS = ("", ".git", ".cargo", "etc", "conf", "init.d", "conda-meta")
"""Where a tool, a version of it or a clone of a version manager keeps them."""

_HOLDERS = (
    "versions",
    "installs",
    "tools/image",
    "candidates",
    "plugins",
    "envs",
    "git/db",
    "registry/index",
)
"""The folders of version managers with the versions of tools, or with a folder of versions for each tool, and Cargo's
with repositories."""

_MACHINES = ("x64", "x86", "arm64")
"""The runner's tool cache has a folder for each tool, in it one for each version, and in that one of these."""

_TOOL_SETTINGS = ("etc/npmrc", "etc/pip.conf", "pip.conf")
"""Where npm and pip keep the settings for all users of a Node or Python."""

_SECRET_SETTING = re.compile(
    rb"(?i)(token|secret[_-]?key|api[_-]?key|passw(or)?d|_auth)\w*[\"']?(\s*[=:>]|\s+value\s*=)\s*[\"']?[^\s\"'<>]"
    rb"|://(?!git@)[^/\s\"']*@|://[^\s\"']*/t/[\w-]|PRIVATE KEY-----"
)


def credentials_in(folder: Path, *, versions: bool = True) -> Iterator[Path]:
    """The paths in `folder`, or in a version of a tool there, that are or contain credentials. A folder of packages has
    no `versions`, and a search for them would visit thousands of folders. Takes 10 ms for a folder with 20 versions."""
    named = [folder / name for name in _NAMES if (folder / name).exists()]
    yield from named
    for place in (str(folder), *(_versions(str(folder)) if versions else ())):
        for path in _settings(place):
            if path not in named and holds_secret(path):
                yield path


def _settings(place: str) -> Iterator[Path]:
    """The files of settings of one tool, those among its Python packages included: pip notes where one came from."""
    for name in _SETTINGS_FOLDERS:
        yield from (
            Path(entry.path)
            for entry in entries_of(os.path.join(place, name))
            if _SETTINGS.fullmatch(entry.name)
        )
    for library in entries_of(os.path.join(place, "lib")):
        if library.name.startswith("python3"):
            for package in entries_of(os.path.join(library.path, "site-packages")):
                if package.name.endswith(".dist-info"):
                    yield Path(package.path, "direct_url.json")


def _versions(folder: str) -> Iterator[str]:
    """Folders in which a version of a tool may have its settings. With `os`, since `Path.glob` takes ten times as long
    and a run's start waits for this."""
    for holder in _HOLDERS:
        for one in _folders(os.path.join(folder, holder)):
            yield one
            yield from _folders(one)
    for tool in _folders(folder):
        for version in _folders(tool):
            yield from filter(os.path.isdir, (os.path.join(version, machine) for machine in _MACHINES))


def _folders(folder: str) -> list[str]:
    return [entry.path for entry in entries_of(folder) if entry.is_dir()]


def entries_of(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []  # it does not exist, or is not readable, inside neither


def holds_secret(path: Path) -> bool:
    """Whether `path` is a file of settings with a key, a password or the like in it. Neither a folder nor a FIFO is."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _SECRET_SETTING.search(file.read(1 << 20)) is not None


ROOTS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store")

_SECRET_CONFIGURATION = tuple(
    """
    shadow shadow- gshadow gshadow- sudoers sudoers.d security/opasswd ssl/private pki/tls/private ssh
    docker containers/auth.json kubernetes rancher letsencrypt wireguard ppp NetworkManager netplan cloud
    krb5.keytab apt/auth.conf apt/auth.conf.d gitconfig npmrc pip.conf netrc environment machine-id
    """.split()  # noqa: SIM905
)
"""Paths beneath /etc; as root, we could read them in spite of their permissions."""

_PREFIXES = ("/usr", "/usr/local")
_OPTIONAL = "/opt"

_RUNNER_FILES = (".credentials", ".runner")
"""Files that mark the folder of a self-hosted runner under /opt, which must be hidden."""


def hidden_system_paths() -> tuple[str, ...]:
    """The paths beneath `ROOTS` that must be hidden; takes 7 ms."""
    named = sorted(f"/etc/{name}" for name in _SECRET_CONFIGURATION)
    hidden = [path for path in named if os.path.lexists(path) and not os.path.islink(path)]
    hidden += _not_for_others("/etc", named)
    # The tool cache of GitHub's runners is in /opt.
    for entry in entries_of(_OPTIONAL):
        if entry.is_dir(follow_symlinks=False):
            if any(os.path.lexists(os.path.join(entry.path, name)) for name in _RUNNER_FILES):
                hidden.append(entry.path)
            hidden += map(str, credentials_in(Path(entry.path)))
    # Beneath /usr only files with credentials, since Landlock then cannot grant the folders above a hidden path, even
    # to be listed.
    for prefix in _PREFIXES:
        settings = (os.path.join(prefix, name) for name in _TOOL_SETTINGS)
        hidden += (path for path in settings if os.path.isfile(path) and holds_secret(Path(path)))
    return tuple(hidden)


def is_below(path: str | Path, folders: Sequence[str]) -> bool:
    """Whether `path` is one of `folders` or lies in one."""
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def _not_for_others(folder: str, passed_over: Collection[str]) -> Iterator[str]:
    """The paths in `folder`, at any depth, that other users may not read; takes 3 ms for 1,200 entries."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_symlink() or entry.path in passed_over:
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            wanted = stat.S_IROTH | (stat.S_IXOTH if is_folder else 0)
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except FileNotFoundError:
                continue  # a package manager removed it meanwhile
            if mode & wanted != wanted:
                yield entry.path
            elif is_folder:
                with contextlib.suppress(FileNotFoundError):
                    yield from _not_for_others(entry.path, passed_over)
