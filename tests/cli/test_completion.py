"""The completion scripts, run by the shells that they are for."""

from __future__ import annotations

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


@pytest.mark.parametrize(("line", "offered"), [("", list(VERBS)), ("dem", ["demo"]), *WORDS])
def test_bash_completes_verbs_actions_options_and_values(
    line: str, offered: list[str], tmp_path: Path
) -> None:
    script = tmp_path / "completion"
    script.write_text(cli("completion", "bash").out)
    words = ["slash-agent", *line.split(" ")]
    asked = (
        f'source {script}; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _slash_agent; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(["bash", "-c", asked, "bash", *words], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_the_script_for_fish_has_a_line_for_each_verb_option_and_value() -> None:
    lines = cli("completion", "fish").out.splitlines()
    for verb in VERBS:
        assert any(f"-n __fish_use_subcommand -a {verb} -d '" in line for line in lines), verb
    seen = "__fish_seen_subcommand_from policy; and __fish_seen_subcommand_from explain"
    [tier] = [line for line in lines if f"-n '{seen}' -l tier " in line]
    assert "maintainer" in tier.partition(" -xa ")[2]
    assert any("-n '__fish_seen_subcommand_from completion' -f -a zsh " in line for line in lines)


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
@pytest.mark.parametrize(("line", "offered"), [("dem", ["demo"]), *WORDS])
def test_fish_completes_the_same(line: str, offered: list[str], tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(cli("completion", "fish").out)
    asked = f'source {script}; complete -C "slash-agent {line}"'
    done = subprocess.run(["fish", "--no-config", "-c", asked], capture_output=True, text=True, check=True)
    assert ([row.split("\t")[0] for row in done.stdout.splitlines()], done.stderr) == (offered, "")


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
def test_zsh_takes_the_script(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(cli("completion", "zsh").out)
    asked = f"source {script}; whence -w _slash_agent; print ${{_comps[slash-agent]}}"
    done = subprocess.run(
        ["zsh", "-f", "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines()[0] == "_slash_agent: function"
    assert "_slash_agent" in done.stdout.splitlines()[1]
