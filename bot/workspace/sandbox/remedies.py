"""What a person can do where no sandbox works on their machine."""

from contextlib import suppress
from pathlib import Path

from bot.checkout.host_programs import find_host_program

HOW_TO_FIX = (
    "Install bubblewrap (apt-get install bubblewrap); on GitHub's runners keep the action's input setup-sandbox "
    "on; at your own terminal, and only for a repository and a request that you trust, use --sandbox off."
)

_PACKAGES = {
    "apt-get": "sudo apt-get install bubblewrap",
    "dnf": "sudo dnf install bubblewrap",
    "zypper": "sudo zypper install bubblewrap",
    "pacman": "sudo pacman -S bubblewrap",
    "apk": "sudo apk add bubblewrap",
}
_PROFILE = "/etc/apparmor.d/slash-agent-bwrap"
_ALLOW = (
    "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' "
    f"'profile slash-agent-bwrap {{program}} flags=(unconfined) {{{{ userns, }}}}' | sudo tee {_PROFILE}\n"
    f"sudo apparmor_parser -r {_PROFILE}"
)
_APPARMOR = "kernel/apparmor_restrict_unprivileged_userns"
# Kernel settings that forbid user namespaces: name, forbidding value, and the command that changes it.
_SWITCHES = (
    ("kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
)


def remedy(system: Path = Path("/proc/sys")) -> str:
    """The commands that make bubblewrap work on this machine, one a line, as far as known."""
    program = find_host_program("bwrap")
    if program is None:
        known = next((command for manager, command in _PACKAGES.items() if find_host_program(manager)), None)
        return known or "install bubblewrap with the package manager of your system"
    for name, value, command in (*_SWITCHES, (_APPARMOR, "1", _ALLOW.format(program=program))):
        with suppress(OSError):
            if (system / name).read_text().strip() == value:
                return command
    return (
        f"{program} --unshare-all --ro-bind / / true prints the reason; "
        "a container needs permission to create user namespaces"
    )
