"""JavaScript and TypeScript."""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bot.ecosystems.checker import PROJECT, table
from bot.ecosystems.javascript_checkers import CHECKERS, FORMS
from bot.ecosystems.javascript_tests import COUNTS, RUNNERS, SUFFIXES, related_command
from bot.ecosystems.language_server import Launch, Server, server_beside
from bot.ecosystems.program_search import Place
from bot.ecosystems.record import (
    HOST,
    METHOD,
    TYPES,
    Action,
    Added,
    Dependencies,
    Ecosystem,
    Files,
    Pin,
    Suite,
    listed,
    uses,
)

MODULES = "node_modules"
_NPM_LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
_LOCKS = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", **dict.fromkeys(_NPM_LOCKS, "npm")}


def _manifest(files: Files) -> dict[str, Any]:
    return table(files.parsed("package.json", json.loads))


def _manager(files: Files) -> tuple[str, str]:
    """Return the package manager, and the version that the manifest pins or an empty string."""
    named = _manifest(files).get("packageManager")
    if isinstance(named, str) and (match := re.match(r"(npm|pnpm|yarn)@(\d+(?:\.\d+){0,2})", named)):
        return match[1], match[2]
    return next((name for lock, name in _LOCKS.items() if lock in files.paths), "npm"), ""


def _checks(files: Files) -> Iterator[str]:
    scripts, (manager, _) = table(_manifest(files), "scripts"), _manager(files)
    if isinstance(scripts.get("test"), str) and "no test specified" not in scripts["test"]:
        yield f"{manager} test"
    for names in (("typecheck", "type-check", "types", "tsc"), ("lint",)):
        yield from [f"{manager} run {name}" for name in names if name in scripts][:1]


def _setup(files: Files, checks: Sequence[str]) -> str:
    content = _manifest(files)
    if not any(content.get(key) for key in ("dependencies", "devDependencies", "workspaces")):
        return ""
    manager, version = _manager(files)
    if manager == "npm":
        locked = any(lock in files.paths for lock in _NPM_LOCKS)
        return f"npm {'ci' if locked else 'install --no-package-lock'}"
    is_berry = ".yarnrc.yml" in files.paths
    frozen = "--immutable" if is_berry else "--frozen-lockfile"
    locked = any(lock in files.paths for lock in _LOCKS)
    install = f" install{f' {frozen}' if locked else '' if is_berry else ' --no-lockfile'}"
    if manager == "yarn" and (is_berry or version[:1] not in ("", "0", "1")):
        package = f"@yarnpkg/cli-dist@{version or '4'}"
    else:
        if manager == "pnpm" and not version:
            lock = re.match(r"lockfileVersion:\s*'?(\d+)", files.text("pnpm-lock.yaml") or "")
            version = {"5": "7", "6": "8"}.get(lock[1] if lock else "", "10")
        package = f"{manager}@{version or '1.22.22'}"
    # Without the manager on PATH it is put beside the packages, where checks find it.
    get = (
        f"npx --yes {package}{install} && npm install --silent --global --prefix {MODULES}/.manager {package} && "
        f"mkdir -p {MODULES}/.bin && ln -sf ../.manager/bin/{manager} {MODULES}/.bin/{manager}"
    )
    return f"if command -v {manager} >/dev/null; then {manager}{install}; else {get}; fi"


_FILES = {
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    **dict.fromkeys((".js", ".mjs", ".cjs"), "javascript"),
    ".tsx": "typescriptreact",
    ".jsx": "javascriptreact",
}


def _typescript(place: Place) -> Launch | str:
    """From version 7 on the compiler is a language server."""
    own = place.above("node_modules/typescript/package.json")
    if own and _major(own) >= 7 and (compiler := place.program("tsc", PROJECT)):
        return Launch((compiler, "--lsp", "--stdio"))
    program = place.program("typescript-language-server", ("project", "path"))
    if not program:
        return "there is neither TypeScript 7 in node_modules nor typescript-language-server"
    library = own.parent / "lib" if own else None
    # What it executes of an older TypeScript.
    names = ("tsserver", "_tsserver", "typescript", "tsserverlibrary")
    files = [library / f"{name}.js" for name in names] if library else []
    options = {"tsserver": {"path": str(library)}} if library else {}
    runs = tuple(str(file) for file in files if file.is_file())
    return Launch((program, "--stdio"), {**options, "disableAutomaticTypingAcquisition": True}, runs)


def _major(package: Path) -> int:
    try:
        first = str(json.loads(package.read_text("utf-8"))["version"]).partition(".")[0]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return 0
    return int(first) if first.isdecimal() and len(first) < 5 else 0


_SCRIPT = rf"{TYPES}|(?:export\s+)?(?:const|let|var)\s+[\w$]+|(?:export\s+)?(?:async\s+)?function\b|{METHOD}"


_STEERS = re.compile(
    rb'\s*+"(?:setupFiles(?:AfterEnv)?|globalSetup|testRunner|testEnvironment|moduleNameMapper|jest|mocha|ava|vitest)"\s*:'
)


def _steers_tests(path: str, added: Added, content: bytes | None, is_new: bool) -> bool:
    *folders, name = path.split("/")
    return MODULES in folders or (name == "package.json" and any(map(_STEERS.match, added)))


def _declared(data: Any) -> Iterator[str]:
    for kind in ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies"):
        yield from table(data, kind)


ECOSYSTEM = Ecosystem(
    name="javascript",
    manifests=("package.json",),
    uses=uses(
        NONE="""
            npm publish; npm version; npm pack; npm audit; npm outdated; playwright; cypress; prettier;
            tsd --help""",
        INSTALL="""
            npm ci; npm install; npm i; npm config; npm install-ci-test; pnpm install; pnpm i; pnpm add;
            pnpm config; yarn install; yarn add; yarn config; yarn set; yarn global; yarn cache; bun install;
            bun add; corepack; nvm; yarn""",
        LINT="""
            prettier --check; prettier -c; prettier -l; prettier --list-different; eslint; xo; oxlint; standard;
            biome; stylelint; tslint; deno lint; deno fmt --check""",
        TYPES="tsc; vue-tsc; tsd; svelte-check; deno check",
        TESTS="""
            vitest; jest; mocha; ava; tap; jasmine; uvu; karma; borp; node --test; deno test; bun test; tape;
            tsx --test; npm test; npm t; npm tst; pnpm test; pnpm t; yarn test""",
    ),
    scripts=listed("""
        npm run; npm run-script; pnpm run; pnpm -r; pnpm -r run; pnpm; yarn run; yarn; yarn workspaces
        foreach; lerna run; node --run; bun run; deno task; nr; turbo run; turbo; nx run-many -t; nx"""),
    launchers=listed("npx; bunx; pnpm exec; pnpm dlx; yarn exec; yarn dlx; c8; nyc; cross-env"),
    values=listed("-p; --package; --filter; -w; --workspace; --cwd; workspace"),
    syncs=listed("npm ci; npm install; npm i; pnpm install; pnpm i; yarn install; yarn; bun install"),
    runs_no_test=re.compile(r"--(listTests|list|dry-run|showConfig|passWithNoTests --listTests)\b"),
    checks=_checks,
    setup=_setup,
    makes=MODULES,
    relock={
        **dict.fromkeys(_NPM_LOCKS, "npm install --package-lock-only --ignore-scripts"),
        "pnpm-lock.yaml": "pnpm install --lockfile-only --ignore-scripts",
        "yarn.lock": "yarn install --mode=update-lockfile",
    },
    locks=(*_LOCKS, "bun.lock", "bun.lockb", "deno.lock"),
    home_packages=(".cache/node/corepack", ".yarn/berry"),
    packages=("bin", "lib/node_modules"),
    suffixes=SUFFIXES,
    test="npm test",
    install="npm ci",
    egress="node",
    counts=COUNTS,
    # npm and pnpm write in their stores while they read them.
    tools={".nvm": "NVM_DIR", ".volta": "VOLTA_HOME", ".nodenv": "NODENV_ROOT", ".bun": "", ".deno": ""},
    caches={".cache/node/corepack": "", ".yarn/berry/cache": ""},
    pins=(
        Pin.usual("nodenv", ".node-version"),
        Pin(
            "Volta",
            "package.json",
            ".volta/bin",
            ".volta/tools/image/node",
            "",
            "volta install node@{version}",
            r'"volta"\s*:\s*\{[^{}]*"node"\s*:\s*"(?P<version>[\w.+-]+)"',
        ),
    ),
    folders=("node_modules",),
    offline={"NPM_CONFIG_FETCH_RETRIES": "0"},
    copies=(
        "A package copied into node_modules, or built before, is not the tree: link it as a workspace, and build it in "
        "the check"
    ),
    servers=(
        Server(
            "typescript",
            _FILES,
            _typescript,
            commands=("tsc --lsp --stdio", "typescript-language-server --stdio"),
            missing=frozenset({"2307", "7016"}),
        ),
        Server(
            "biome",
            _FILES,
            server_beside(("biome.json", "biome.jsonc"), "", "biome", "lsp-proxy", top=True),
            commands=("biome lsp-proxy",),
        ),
        Server(
            "oxlint",
            _FILES,
            server_beside((".oxlintrc.json", ".oxlintrc.jsonc"), "", "oxlint", "--lsp", top=True),
            commands=("oxlint --lsp",),
        ),
    ),
    runners=RUNNERS,
    checkers=CHECKERS,
    forms=FORMS,
    bins=("node_modules/.bin",),
    outline=dict.fromkeys(SUFFIXES, _SCRIPT),
    suites=(
        Suite(
            suffixes="js jsx mjs cjs ts tsx mts cts vue svelte",
            tests="""
                *.test *.tests *.spec *.test-d *.cy *.e2e *-test *-tests *-spec *_test *_spec test test-*
                setupTests""",
            settings="""
                jest.config.* jest.setup.* jest.preset.* vitest.config.* vitest.setup.* vitest.workspace.*
                setupTests.* globalSetup.* .mocharc* .taprc ava.config.* karma.conf.* playwright.config.*
                cypress.config.* cypress.json jasmine.json web-test-runner.config.*""",
            mixed="""
                package.json vite.config.* babel.config.* .babelrc tsconfig*.json deno.json deno.jsonc
                bunfig.toml""",
            inside=r"\bimport\.meta\.vitest\b[\s\S]*",
            assertion=(
                r"\bexpect(?:Type\w*)?\s*\(|\bassert(?:\.\w+)*\s*\(|\.should\b"
                r"|\bt\.(?!test|skip|before|after)\w+\s*\("
            ),
            skip=(
                r"\b(?:it|test|describe|suite|context)(?:\.\w+)*\.(?:skip|todo|fixme|fails|failing|only|skipIf|runIf)\b"
                r"|\b[xf](?:it|test|describe|context)\s*\(|\bthis\.skip\s*\(|\bpending\s*\(|\.each\s*\(\s*\[\s*\]\s*\)"
            ),
            test=r"^\s*[xf]?(?:it|test|specify)(?:\.\w+)*\s*[(`].*?(['\"`].*?['\"`])",
        ),
    ),
    steers_tests=_steers_tests,
    dependencies=Dependencies(
        manifests={"package.json": (json.loads, _declared)},
        locks={
            "package-lock.json": r'\s*"(?:node_modules/)+((?:@[^/"]+/)?[^/"]+)": \{',
            "yarn.lock": r'"?((?:@[^/"\s]+/)?[^@"\s]+)@',
            "pnpm-lock.yaml": r"  ['\"]?/?((?:@[^/'\"\s]+/)?[^@/'\"\s]+)@\d",
        },
        sources={
            "*package-lock.json": rf'\s*"resolved"{HOST}',
            "npm-shrinkwrap.json": rf'\s*"resolved"{HOST}',
            "pnpm-lock.yaml": rf".*\btarball{HOST}",
        },
        settings="bunfig.toml .yarnrc*",
        usual="registry.npmjs.org registry.yarnpkg.com",
    ),
    sensitive={
        "dependency manifest": "package.json deno.json deno.jsonc",
        "lock file": """
            package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock""",
        "configuration": "gulpfile.* gruntfile.*",
    },
    sections={
        "package.json": (
            "(coverageThreshold|collectCoverageFrom|coveragePathIgnorePatterns|testPathIgnorePatterns|eslintConfig"
            "|eslintIgnore|nyc|c8|xo|check-coverage)"
        )
    },
    leftovers=("node_modules/",),
    hosts=("registry.npmjs.org",),
    interpreters=("node",),
    also_read=(".nvmrc", "pnpm-lock.yaml"),
    actions={
        "actions/setup-node": Action(
            "820762786026740c76f36085b0efc47a31fe5020 # v7.0.0",
            "node-version architecture",
            {"package-manager-cache": "false"},
        ),
        "pnpm/action-setup": Action(
            "26f6d4f2c533a43e6b5da0b4a5dd983f98f7b49a # v6.0.4",
            "version",
            read={"version": ("package.json", r'"packageManager":\s*"pnpm@([\d.]+)')},
        ),
        "oven-sh/setup-bun": Action(
            "0c5077e51419868618aeaa5fe8019c62421857d6 # v2", "bun-version", {"no-cache": "true"}
        ),
        "denoland/setup-deno": Action("667a34cdef165d8d2b2e98dde39547c9daac7282 # v2", "deno-version"),
    },
    # pnpm would install anew before a script: a tree's files are newer than its record of the last install.
    settings={"pnpm_config_verify_deps_before_run": "false"},
    online={"npm_config_ignore_scripts": "true", "YARN_ENABLE_SCRIPTS": "false"},
    authorities=("NODE_EXTRA_CA_CERTS",),
    mirror="npm_config_registry",
    downloads=("~/.npm/_cacache", "~/.cache/yarn", "~/.local/share/pnpm/store"),
    related_command=related_command,
    absent=(
        r"npm (?:ERR!|error) [Mm]issing script",
        # A missing path (`./parse`) is the repository's own, and a failure.
        r"Cannot find (?:module|package) '[^./]",
        "ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL",
    ),
    installed_beside=dict.fromkeys(("", "package.json"), (MODULES,)),
    linked=MODULES,
    linked_without=listed(".cache; .vite; .vite-temp; .vitest"),
    prefixes=("lib/node_modules/npm",),
)
