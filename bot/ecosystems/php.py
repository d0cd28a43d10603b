"""PHP."""

import json
import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.checker import table
from bot.ecosystems.record import CLASSES, Action, Dependencies, Ecosystem, Files, Suite, uses
from bot.ecosystems.test_results import FAILED, Named, Runner, by_names


def _checks(files: Files) -> Iterator[str]:
    if "test" in table(files.parsed("composer.json", json.loads), "scripts"):
        yield "composer test"
    elif not {"phpunit.xml", "phpunit.xml.dist"}.isdisjoint(files.paths):
        yield "vendor/bin/phpunit"
        yield "phpunit"


_PHPUNIT_END = re.compile(
    r"(?:OK \(|Tests: )(?P<ran>\d+)(?: tests?, \d+ assertions?\)|, Assertions: \d+(?:, [A-Za-z ]+: \d+)*\.)"
)
_PHPUNIT_PART = re.compile(r"There (?:was|were) \d+ (?:(errors?|failures?)|.+):")
_PHPUNIT_TEST = re.compile(r"\d+\) ([\w\\]+::\w.*)")


def phpunit(lines: Sequence[str]) -> Named:
    """By its lists of errors and failures."""
    listed = ""
    for line in lines:
        if match := _PHPUNIT_PART.fullmatch(line):
            listed = match[1]
        elif listed and (match := _PHPUNIT_TEST.fullmatch(line)):
            yield match[1], FAILED


ECOSYSTEM = Ecosystem(
    name="php",
    manifests=("composer.json",),
    uses=uses(
        NONE="composer validate",
        INSTALL="composer install; composer update; composer require; composer global; composer config",
        LINT="phpcs; php-cs-fixer; pint; ecs; parallel-lint",
        TYPES="phpstan; psalm",
        TESTS="phpunit; simple-phpunit; pest; paratest; codecept; phpspec; behat; composer test; artisan test",
    ),
    scripts=("composer run-script", "composer run", "composer"),
    launchers=("php",),
    values=("-d", "-c"),
    syncs=("composer install", "composer update"),
    runs_no_test=re.compile(r"--list-(tests|suites|groups)\b|--dry-run\b"),
    checks=_checks,
    # No install in the sandbox: Composer's archives lie at GitHub, where data could leave it.
    locks=("composer.lock",),
    home_packages=(".cache/composer", ".config/composer"),
    suffixes=(".php",),
    test="vendor/bin/phpunit",
    install="composer install",
    counts=(
        r" *Tests: +(\d+ [a-z]+, )*\d+ passed \(\d+ assertions?\)",
        r"(OK|FAILURES!|Failures!) \((?P<ran>\d+) tests?(, \d+ failures?)?(, \d+ skipped)?, .*\)",
    ),
    caches={".cache/composer/files": "COMPOSER_CACHE_READ_ONLY=1"},
    folders=("vendor",),
    offline={"COMPOSER_DISABLE_NETWORK": "1"},
    copies='A package copied into vendor is not the tree: let Composer link it (`"symlink": true`)',
    runners=(Runner(by_names("PHPUnit's output", phpunit, only_failed=True), _PHPUNIT_END),),
    outline={".php": CLASSES},
    suites=(
        Suite(
            suffixes="php",
            tests="*Test *TestCase *Cest *Cept",
            settings="phpunit.xml phpunit.xml.dist phpunit.dist.xml codeception.yml behat.yml",
            mixed="composer.json",
        ),
    ),
    dependencies=Dependencies(
        manifests={
            "composer.json": (json.loads, lambda data: table(data, "require") | table(data, "require-dev"))
        }
    ),
    sensitive={"dependency manifest": "composer.json", "lock file": "composer.lock"},
    interpreters=("php",),
    actions={
        "shivammathur/setup-php": Action("f3e473d116dcccaddc5834248c87452386958240 # 2.37.2", "php-version")
    },
    absent=("^Could not open input file: vendor/",),
    installed_beside={"composer.json": ("vendor",)},
)
