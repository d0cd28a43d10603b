"""What commands are for, by the tables of the ecosystems; and whether a project uses a checker: by its settings, or by
its name among the project's tools."""

import shlex

import pytest

from bot.ecosystems.checker import has_settings, uses_checker
from bot.ecosystems.record import Use
from bot.ecosystems.registry import NAMES, ecosystem_of, named, use_of

TESTS = """
pytest -x
python -m pytest
python3.12 -W error -m pytest
uv run --group dev pytest -q
uv --quiet run pytest
poetry run pytest
coverage run -m pytest
env A=1 pytest
timeout 60 pytest
nbdev-test
tox
tox -epy39-marshmallow3
tox --verbose -e 3.14-unit -vv
nox -s tests
hatch run test
molecule test
pixi run -e py312 test-base
npm run -w packages/x test
npm test
npm run test:unit
pnpm -r test
pnpm vitest run
yarn test --ci
deno task test
nr test
node --import tsx --test x.ts
xvfb-run -a npm test
go test ./...
cargo hack --feature-powerset test
cargo nextest run
./mvnw verify
mvn clean install -DskipTests=false
bundle exec rake
bundle exec thor spec
composer test
composer phpunit
php vendor/bin/phpunit
dotnet test
sbt 'project a' '++ 3' test
ctest --test-dir build
make test
make testci
just check
make -C sub test
make clean test
make -k -j 8 all check
make go-test
pdm run test
pipenv run tests
conda run -n x pytest
python manage.py test
./manage.py test --parallel
npm run js-test
yarn workspace web test
yarn --cwd web test
yarn workspaces foreach -A run test
npx lerna run test
node --run test
npx tsx --test x.ts
./gradlew :core:test
ninja -C build check
cmake --build build --target check
bundle exec parallel_rspec spec
php artisan test
dbus-run-session -- pytest
python tests/run.py
node test/index.js
bash ci/test.sh
./scripts/run-tests.sh
python tools/run_tests.py
uv run bash scripts/test.sh
python -Im pytest -v
"""
RUN_NO_TEST = """
cargo test --workspace --no-run
cargo nextest list
go test -run=^$ ./...
go test -run '^$' ./...
go test -run NONE ./...
go test -list . ./...
go test -exec true ./...
pytest --collect-only
pytest --co -q
mvn -B -DskipTests package
mvn verify -Dmaven.test.skip=true
./gradlew build -x test
./gradlew test --dry-run
npx jest --listTests
npx vitest list --dry-run
dotnet test --list-tests
ctest -N
make -n test
vendor/bin/phpunit --list-tests
tox --notest
"""
OTHERS = {
    Use.INSTALL: """
        pip install -e '.[dev]'; pip3 install yamllint; python -m pip install -e .; uv sync --group test;
        uv pip install x; poetry install
        npm ci; yarn; yarn --cwd web; yarn set version 4; pnpm install --frozen-lockfile; bundle install
        composer install; cargo install cargo-hack; go mod download
    """,
    Use.SYSTEM: "sudo apt-get install x; apt-get update; rustup component add clippy",
    Use.BUILD: """
        make; make -C sub; make clean all; make build-tests; cmake -S . -B build; cargo build; go build ./...
        npm run build; meson setup out; ./configure; sbt '++ 3' Test/nativeLink
    """,
    Use.LINT: """
        ruff check .; ruff format --check .; black --check .; npx prettier --check .; pnpm lint; tox -e lint
        deno fmt --check; make lint; cargo clippy -- -D warnings
        hatch run lint:style; hatch fmt --check; pre-commit run -a; golangci-lint run; bundle exec rubocop
        composer phpcs; composer phpmd-test
        yamllint .; sbt githubWorkflowCheck; sbt 'project a' '++ 3' headerCheckAll scalafmtCheckAll
        tox -v -e flake8 -- -v; tox --verbose --verbose -e pydocstyle; nox --session lint; tox run -f lint
    """,
    Use.TYPES: """
        mypy src; npx tsc --noEmit; npm run test:types; yarn type-tests; composer phpstan -- --no-progress;
        pnpm typecheck""",
    None: """
        ruff format .; black .; npx prettier --write .; make docs; tox -e docs; tox -e docs,packaging; npm publish;
        cargo publish; cargo doc; yarn tsc --version; yarn size; pytest --version
        rake memory_profile:run; sbt docs/tlSite; coverage xml; echo hi; npm run test:e2e; npm run test:watch
        bun run lint:fix; yarn workspace web deploy; pdm run x; gem push x; curl https://example.com
    """,
}


@pytest.mark.parametrize("command", TESTS.strip().splitlines())
def test_a_command_that_runs_tests_is_known(command: str):
    assert use_of(tuple(shlex.split(command))) is Use.TESTS


@pytest.mark.parametrize("command", RUN_NO_TEST.strip().splitlines())
def test_a_runner_that_only_compiles_or_lists_runs_no_tests(command: str):
    assert use_of(tuple(shlex.split(command))) is not Use.TESTS


@pytest.mark.parametrize(
    ("command", "use"),
    [
        (one.strip(), use)
        for use, lines in OTHERS.items()
        for one in lines.replace("\n", ";").split(";")
        if one.strip()
    ],
)
def test_other_commands(command: str, use: Use | None):
    assert use_of(tuple(shlex.split(command))) is use


def test_each_ecosystem_has_the_name_of_its_file_and_knows_its_own_tests():
    assert [named(name).name for name in NAMES] == list(NAMES)
    assert [
        ecosystem_of(shlex.split(line)) for line in ("uv run pytest", "npx jest", "cargo test", "make x", "")
    ] == ["python", "javascript", "rust", "general", ""]


@pytest.mark.parametrize(
    ("checker", "files", "set_up", "used"),
    [
        ("ty", {}, False, False),
        ("ty", {"pyproject.toml": "[project]\nname = 'twenty'\n[tool.typos]\n"}, False, False),
        ("ty", {"Makefile": "test:\n\tpytest -p no:pty\n"}, False, False),
        ("ty", {"Makefile": "lint:\n\tuv run ty check\n"}, False, True),
        ("ty", {"lib/pyproject.toml": "[dependency-groups]\ndev = ['ty']\n"}, False, True),
        ("ty", {"other/ty.toml": ""}, False, False),
        ("ty", {"ty.toml": ""}, True, True),
        ("ty", {"pyproject.toml": "[tool.ty.rules]\n"}, True, True),
        ("ruff", {"lib/.ruff.toml": ""}, True, True),
        ("ruff", {".pre-commit-config.yaml": "- repo: x/ruff-pre-commit\n  hooks:\n  - id: ruff\n"}, False, True),
        ("mypy", {"setup.cfg": "[mypy-requests]\n"}, True, True),
        ("pyright", {"pyproject.toml": "[tool.basedpyright]\n"}, False, False),
        ("shellcheck", {"tox.ini": "allowlist_externals = shellcheck\n"}, False, True),
    ],
)  # fmt: skip
def test_a_checker_is_used_if_it_has_settings_or_is_named_from_the_folder_up(
    checker: str, files: dict[str, str], set_up: bool, used: bool
):
    folders = ("lib", "")
    assert any(has_settings(checker, folder, files.get) for folder in folders) is set_up
    assert uses_checker(checker, folders, files.get) is used
