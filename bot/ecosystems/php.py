"""PHP."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from bot.ecosystems.record import Ecosystem, Files, uses


def _checks(files: Files) -> Iterator[str]:
    content = files.parsed("composer.json", json.loads)
    scripts = content.get("scripts") if isinstance(content, dict) else None
    if isinstance(scripts, dict) and "test" in scripts:
        yield "composer test"
    elif not {"phpunit.xml", "phpunit.xml.dist"}.isdisjoint(files.paths):
        yield "vendor/bin/phpunit"
        yield "phpunit"


ECOSYSTEM = Ecosystem(
    name="php",
    manifests=("composer.json",),
    uses=uses(
        NONE="composer validate",
        INSTALL="composer install; composer update; composer require; composer global; composer config",
        LINT="phpcs; php-cs-fixer; pint; ecs; parallel-lint",
        TYPES="phpstan; psalm",
        TESTS="phpunit; simple-phpunit; pest; paratest; codecept; phpspec; behat; composer test",
    ),
    scripts=("composer run-script", "composer run", "composer"),
    launchers=("php",),
    values=frozenset(("-d", "-c")),
    runs_no_test=re.compile(r"--list-(tests|suites|groups)\b|--dry-run\b"),
    checks=_checks,
    # No install in the sandbox: Composer's archives lie at GitHub, where data could leave it.
    locks=("composer.lock",),
    kept=(".cache/composer", ".config/composer"),
    suffixes=(".php",),
    test="vendor/bin/phpunit",
    install="composer install",
    counts=(
        r" *Tests: +((?P<failed>\d+) failed, )?((?P<skipped>\d+) [a-z]+, )*(?P<passed>\d+) passed \(\d+ assertions?\)",
        (
            r"(OK|FAILURES!|Failures!) \((?P<ran>\d+) tests?(, (?P<failed>\d+) failures?)?"
            r"(, (?P<skipped>\d+) skipped)?, .*\)"
        ),
    ),
    caches={".cache/composer/files": "COMPOSER_CACHE_READ_ONLY=1"},
    folders=("vendor",),
    offline={"COMPOSER_DISABLE_NETWORK": "1"},
    copies='A package copied into vendor is not the tree: let Composer link it (`"symlink": true`)',
)
