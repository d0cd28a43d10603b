"""Read the environments of tox, nox and hatch from their files; noxfile.py as a syntax tree.

Nothing is run. Values that are not literals are ignored.
"""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bot.environment.detection import Read
from bot.environment.python import manifest, pip_arguments, table

_SUBSTITUTION = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class ToolEnvironment:
    """An environment of tox or hatch, or a session of nox: arguments of pip, and commands."""

    install: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    source: str
    environment: Mapping[str, str]


def tox_environment(words: Sequence[str], read: Read) -> list[ToolEnvironment]:
    """Return the environments that `tox [run] [-e NAMES | -f FACTORS]` selects; by default the one for the tests."""
    names = _selected_names(words)
    for file in ("tox.ini", "setup.cfg"):
        if sections := _sections(read, file):
            return [one for name in names if (one := _ini_environment(name, sections, file)) is not None]
    settings = table(manifest(read), "tool", "tox")
    if legacy := settings.get("legacy_tox_ini"):
        sections = _sections(read, "pyproject.toml", legacy) if isinstance(legacy, str) else {}
        return [
            one for name in names if sections and (one := _ini_environment(name, sections, "pyproject.toml"))
        ]
    settings = settings or table(read.parsed("tox.toml", tomllib.loads))
    return [one for name in names if settings and (one := _toml_environment(name, settings))]


def _use_local_packages(text: str, read: Read) -> str:
    """Return `text` with paths into site-packages replaced by the packages in the repository."""

    def local_path(match: re.Match[str]) -> str:
        name = match[1]
        return f"src/{name}" if read(f"src/{name}/__init__.py") is not None else name

    return re.sub(r"\{env_?site_?packages_?dir\}/(\w+)", local_path, text)


def _selected_names(words: Sequence[str]) -> list[str]:
    for number, word in enumerate(words):
        if word in ("-e", "-f", "--env") and number + 1 < len(words):
            separator = "," if word == "-e" else "-"
            names = words[number + 1].split(",") if separator == "," else [words[number + 1]]
            return [re.sub(r"\$\{?\w+\}?|\$\{\{.*?\}\}", "py", name) for name in names][:4]
        if word.startswith("-e") and len(word) > 2:
            return word[2:].split(",")[:4]
    return ["py"]


def _sections(read: Read, file: str, text: str | None = None) -> dict[str, dict[str, str]]:
    """Return the sections of `file`, or of `text` in it; nothing if none of them is for tests."""
    sections = table(read.parsed(file, ini_sections, text))
    if not any(name.startswith("testenv") for name in sections):
        return {}
    return {
        name: {key: _use_local_packages(str(value), read) for key, value in table(sections, name).items()}
        for name in sections
    }


def ini_sections(text: str) -> dict[str, dict[str, str]]:
    """Parse an INI file."""
    import configparser

    parser = configparser.RawConfigParser(
        strict=False, comment_prefixes=("#", ";"), inline_comment_prefixes=None
    )
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def _ini_environment(
    name: str, sections: Mapping[str, Mapping[str, str]], file: str
) -> ToolEnvironment | None:
    factors = set(re.split(r"[-,]", name))
    own: dict[str, str] = dict(sections.get("testenv", {}))
    specific = False
    for section, content in sections.items():
        if section.startswith("testenv:") and _matches(section.removeprefix("testenv:"), name):
            own |= content
            specific = True
    if not own or not (specific or name == "py" or _is_python_factor(name) or "testenv" in sections):
        return None

    def lines(key: str) -> list[str]:
        return _lines(own.get(key, own.get(key.replace("_", ""), "")), factors, sections, set())

    install = [_requirement(line) for line in lines("deps")]
    install += [
        f"--group {group}"
        for line in lines("dependency_groups")
        for group in re.split(r"[,\s]+", line)
        if group
    ]
    if own.get("skip_install", "").strip().lower() != "true":
        extras = [extra for line in lines("extras") for extra in re.split(r"[,\s]+", line) if extra]
        install.insert(0, f"-e {shlex.quote('.[' + ','.join(extras) + ']' if extras else '.')}")
    folder = own.get("changedir", own.get("change_dir", "")).strip()
    commands = [words for line in lines("commands") if (words := _split_words(line))]
    settings = dict(
        line.split("=", 1) for line in lines("setenv") + lines("set_env") if "=" in line and "{" not in line
    )
    plain = {
        key.strip(): value.strip()
        for key, value in settings.items()
        if re.fullmatch(r"\s*[A-Za-z_]\w*\s*", key)
    }
    if folder and not re.match(r"\.?$|\.tox\b", _substitute(folder)):
        commands = []  # run elsewhere than at the root, with paths that are relative to it
    return ToolEnvironment(tuple(filter(None, install)), tuple(commands), f"{file}, {name}", plain)


def _matches(pattern: str, name: str) -> bool:
    """Whether `testenv:PATTERN` matches the environment. Braces list alternatives, `{0-5}` is a range."""
    choices = [""]
    for literal, braces in re.findall(r"([^{}]+)|\{([^{}]*)\}", pattern)[:10]:
        if literal:
            choices = [choice + literal for choice in choices]
        else:
            parts = [part.strip() for part in _alternatives(braces)[:400]]
            choices = [choice + part for choice in choices for part in parts][:400]
    every = [part.strip() for choice in choices for part in choice.split(",")]
    if name in every:
        return True
    # `py-tests` of CI's `${PYTHON}-tests` is any of `3.12-tests`, `py312-tests`.
    return "py" in name.split("-") and any(
        re.sub(r"^(py)?3?\.?\d+\.?\d*", "py", one) == name for one in every
    )


def _alternatives(braces: str) -> list[str]:
    alternatives = []
    for part in braces.split(","):
        if span := re.fullmatch(r"\s*(\d+)-(\d+)\s*", part):
            alternatives += [
                str(number) for number in range(int(span[1]), min(int(span[2]), int(span[1]) + 50) + 1)
            ]
        else:
            alternatives.append(part)
    return alternatives


def _is_python_factor(name: str) -> bool:
    return bool(re.fullmatch(r"(py|pypy)?\d*(\.\d+)?t?", name.split("-")[0]))


def _lines(
    value: str,
    factors: set[str],
    sections: Mapping[str, Mapping[str, str]],
    seen: set[str],
) -> list[str]:
    """Return the lines of a value, with those of other sections in place of references. Each is taken once."""
    lines: list[str] = []
    for raw in re.sub(r"\\\n\s*", " ", value).splitlines():
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        # `[A-Za-z]` at least: a Windows path or a URL has a colon too.
        condition = re.match(r"^([\w!.{},-]+):\s+(.*)$", line) or re.match(r"^([\w!.{},-]+):()$", line)
        if condition and not line.startswith("-"):
            if not any(_factors_match(part, factors) for part in condition[1].split(",")):
                continue
            line = condition[2].strip()
        whole = re.fullmatch(r"\{\[([^\]]+)\](\w+)\}", line)
        if whole and line not in seen:
            seen.add(line)
            lines += _lines(sections.get(whole[1], {}).get(whole[2], ""), factors, sections, seen)
        elif line and not whole:
            lines.append(line)
    return lines


def _factors_match(condition: str, factors: set[str]) -> bool:
    """Whether all factors of a condition such as `py312-!cov` hold."""
    return all(
        (part[1:] not in factors) if part.startswith("!") else part in factors
        for part in condition.strip("{} ").split("-")
        if part
    )


def _requirement(line: str) -> str:
    if match := re.match(r"^(-r|-c|--requirement|--constraint)\s*(\S+)$", _substitute(line)):
        return f"{match[1]} {shlex.quote(match[2])}"
    filled = _substitute(line)
    if filled.startswith(("-e", ".")):
        return f"-e {shlex.quote(filled.removeprefix('-e').strip())}"
    return "" if filled.startswith("-") or "{" in filled else shlex.quote(filled)


def _substitute(text: str) -> str:
    def known(match: re.Match[str]) -> str:
        name, _, default = match[1].partition(":")
        if name in ("toxinidir", "tox_root", "changedir"):
            return "."
        if name in ("envtmpdir", "env_tmp_dir", "envdir", "env_dir", "envlogdir"):
            return ".tox-tmp"
        if name in ("envpython", "env_python"):
            return "python"
        if name == "posargs":
            return default
        return (
            ""
            if name == "tty"
            else default.partition(":")[2]
            if name == "env" and ":" in default
            else match[0]
        )

    for _ in range(3):
        text = _SUBSTITUTION.sub(known, text)
    return re.sub(r"\.(/\.)+", ".", text).strip()


def _split_words(line: str) -> tuple[str, ...]:
    filled = _substitute(line.lstrip("-! ") if line.startswith(("- ", "! ", "-{")) else line)
    if "{" in filled:
        return ()
    try:
        return tuple(shlex.split(filled))
    except ValueError:
        return ()


def _toml_environment(name: str, settings: Mapping[str, Any]) -> ToolEnvironment | None:
    settings_of_env = {**table(settings, "env_run_base"), **table(settings, "env", name)}
    if not settings_of_env.get("commands"):
        return None
    install = [shlex.quote(one) for one in settings_of_env.get("deps", []) if isinstance(one, str)]
    install += [
        f"--group {shlex.quote(one)}"
        for one in settings_of_env.get("dependency_groups", [])
        if isinstance(one, str)
    ]
    if not settings_of_env.get("skip_install"):
        extras = [one for one in settings_of_env.get("extras", []) if isinstance(one, str)]
        install.insert(0, f"-e {shlex.quote('.[' + ','.join(extras) + ']' if extras else '.')}")
    commands = []
    for command in settings_of_env["commands"] if isinstance(settings_of_env["commands"], list) else []:
        if isinstance(command, list):
            words = [filled for word in command if isinstance(word, str) and (filled := _substitute(word))]
            commands.append(tuple(words))
    complete = tuple(words for words in commands if words and not any("{" in word for word in words))
    return ToolEnvironment(tuple(install), complete, f"pyproject.toml, tox environment {name}", {})


def hatch_environment(words: Sequence[str], read: Read) -> list[ToolEnvironment]:
    """Return what `hatch run [ENV:]SCRIPT`, `hatch -e ENV run SCRIPT` or `hatch test` selects. Every environment
    inherits from `default`."""
    environments = table(manifest(read), "tool", "hatch", "envs") or table(
        read.parsed("hatch.toml", tomllib.loads), "envs"
    )
    action = next((word for word in words[1:] if word in ("run", "test")), "")
    rest = [word for word in words[words.index(action) + 1 :] if word[:1] not in "-+"] if action else []
    option = next((words[at + 1] for at, word in enumerate(words[:-1]) if word in ("-e", "--env")), "default")
    environment, _, script = rest[0].rpartition(":") if action == "run" and rest else ("hatch-test", "", "")
    name = environment or option
    own = {**table(environments, "default"), **table(environments, name)}
    scripts = {**table(environments, "default", "scripts"), **table(environments, name, "scripts")}
    if action == "test":
        commands: tuple[tuple[str, ...], ...] = (("pytest",),)
    elif script in scripts:
        commands = tuple(_hatch_script(script, scripts))
    else:
        commands = ((script, *words[words.index(rest[0]) + 1 :]),) if script else ()
    needed = [*_texts(own.get("dependencies")), *_texts(own.get("extra-dependencies"))]
    install = [shlex.quote(one) for one in needed if not one.startswith("-")]
    if not (own.get("skip-install") or own.get("detached")):
        features = ",".join(_texts(own.get("features")))
        install.insert(0, f"-e {shlex.quote(f'.[{features}]' if features else '.')}")
    return [ToolEnvironment(tuple(install), commands, f"hatch environment {name}", {})] if commands else []


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _hatch_script(name: str, scripts: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[str, ...]]:
    """Yield the commands of a script, and of the scripts that it calls."""
    lines = scripts[name] if isinstance(scripts[name], list) else [scripts[name]]
    for line in lines[:20]:
        words = _split_words(line.replace("{args", "{posargs")) if isinstance(line, str) else ()
        if words and words[0] in scripts and words[0] != name and depth < 3:
            yield from _hatch_script(words[0], scripts, depth + 1)
        elif words:
            yield words


def nox_sessions(words: Sequence[str], read: Read) -> list[ToolEnvironment]:
    """Return the sessions that `nox [-s NAMES]` selects; by default those whose name starts with `test`."""
    wanted: set[str] = set()
    for number, word in enumerate(words):
        if word in ("-s", "--session", "--sessions", "-e", "-rs"):
            wanted = {re.split(r"[-(]", name)[0] for name in words[number + 1 :] if not name.startswith("-")}
    sessions: dict[str, list[list[str]]] = {}
    rows = read.parsed("noxfile.py", nox_calls)
    for row in rows if isinstance(rows, list) else ():
        if len(words := _texts(row)) > 2 and (
            wanted.intersection(words[:2]) if wanted else words[0].startswith("test")
        ):
            sessions.setdefault(words[0], []).append(words[2:])
    return [_session(name, calls) for name, calls in sessions.items()][:4]


def nox_calls(text: str) -> list[list[str]]:
    """Parse a noxfile: return for each call of a session's method the names of session, function and method, and the
    literal strings among the arguments."""
    return [
        [name, node.name, call.func.attr, *_literals(call)]
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and (name := _session_name(node))
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
    ]


def _literals(call: ast.Call) -> Iterator[str]:
    for one in call.args:
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def _session_name(node: ast.FunctionDef) -> str:
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        target = call.func if call else decorator
        name = (
            target.attr
            if isinstance(target, ast.Attribute)
            else target.id
            if isinstance(target, ast.Name)
            else ""
        )
        if name == "session":
            keywords = {one.arg: one.value for one in call.keywords} if call else {}
            name_value = keywords.get("name")
            return (
                name_value.value
                if isinstance(name_value, ast.Constant) and isinstance(name_value.value, str)
                else node.name
            )
    return ""


def _session(name: str, calls: Sequence[Sequence[str]]) -> ToolEnvironment:
    install: list[str] = []
    commands: list[tuple[str, ...]] = []
    for method, *words in calls:
        if method == "install":
            install += pip_arguments(words)
        elif method in ("run", "run_always") and words:
            commands.append(tuple(words))
    return ToolEnvironment(tuple(install), tuple(commands), f"noxfile.py, session {name}", {})
