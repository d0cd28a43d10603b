"""The completion scripts, run by the shells that they are for."""

import shutil
import subprocess
from pathlib import Path

import pytest

from bot.cli.main import VERBS
from tests.cli.test_command_line import warm_cli as cli

WORDS = [
    ("fix --bud", ["--budget"]),
    ("policy exp", ["explain"]),
    ("policy explain --ti", ["--tier"]),
    ("policy explain --tier ma", ["maintainer"]),
    ("skills list --fo", ["--for-model"]),
    ("completion z", ["zsh"]),
]


@pytest.mark.parametrize(("line", "offered"), [("", sorted(VERBS)), ("dem", ["demo"]), *WORDS])
def test_bash_completes_verbs_actions_options_and_values(line: str, offered: list[str], tmp_path: Path):
    script = tmp_path / "completion"
    script.write_text(cli("completion", "bash").out)
    words = ["slash-agent", *line.split(" ")]
    asked = (
        f'source {script}; set -- $(complete -p slash-agent | sed -n "s/.*-F \\([^ ]*\\).*/\\1/p") "$@"; '
        f'function=$1; shift; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; '
        '"$function" slash-agent "${COMP_WORDS[COMP_CWORD]}"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked, "bash", *words], capture_output=True, text=True, check=True)
    assert set(offered) <= set(done.stdout.split()), done.stderr
    assert not line or done.stdout.split() == offered


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(("line", "offered"), [("dem", ["demo"]), *WORDS])
def test_fish_completes_the_same(line: str, offered: list[str], tmp_path: Path):
    script = tmp_path / "completion"
    script.write_text(cli("completion", "fish").out)
    asked = f'source {script}; complete -C "slash-agent {line}"'
    done = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True)
    assert [row.split("\t")[0] for row in done.stdout.splitlines()] == offered


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_takes_the_script(tmp_path: Path):
    script = tmp_path / "_slash-agent"
    script.write_text(cli("completion", "zsh").out)
    asked = f"fpath=({tmp_path} $fpath); autoload -U compinit && compinit -u; print ${{_comps[slash-agent]}}"
    done = subprocess.run(
        ["zsh", "-f", "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "slash" in done.stdout
