"""Ruby."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.record import MODULES, Action, Dependencies, Ecosystem, Files, Pin, Suite, uses
from bot.ecosystems.test_results import FAILED, Named, Runner, by_names


def _checks(files: Files) -> Iterator[str]:
    is_spec = any(path.startswith("spec/") and path.endswith("_spec.rb") for path in files.paths)
    if is_spec or ".rspec" in files.paths:
        command = "rspec"
    elif "Rakefile" in files.paths and any(path.startswith("test/") for path in files.paths):
        command = "rake test"
    else:
        return
    if "Gemfile" in files.paths:
        yield f"bundle exec {command}"
    yield command  # with the gems of the system


def _setup(files: Files, checks: Sequence[str]) -> str:
    if "Gemfile" not in files.paths:
        return ""
    settings = ["path vendor/bundle", *(["frozen true"] if "Gemfile.lock" in files.paths else [])]
    configure = [f"bundle config set --local {setting}" for setting in settings]
    return " && ".join((*configure, "bundle install"))


_RSPEC_END = re.compile(
    r"(?P<ran>\d+) examples?, \d+ failures?(?:, \d+ pending)?(?:, \d+ errors? occurred .*)?"
)
_RSPEC_BAD = re.compile(r"rspec '?(?:\./)?([^\s':\[]+)(?::\d+|\[[\d:]+\])?'?(?: # (.+))?")


def rspec(lines: Sequence[str]) -> Named:
    """By its list of failed examples, each with its file and its words: a line moves."""
    for match in filter(None, map(_RSPEC_BAD.fullmatch, lines)):
        yield f"{match[1]} {match[2] or ''}".rstrip(), FAILED


ECOSYSTEM = Ecosystem(
    name="ruby",
    manifests=("Gemfile", "*.gemspec", "Rakefile", ".rspec"),
    uses=uses(
        NONE="gem push; gem build",
        INSTALL="bundle install; bundle config; bundle lock; gem install; bundle",
        LINT="rubocop; standardrb; reek; brakeman",
        TYPES="srb; steep",
        TESTS="rspec; parallel_rspec; minitest; cucumber; rake; rails test; m",
    ),
    scripts=("rake", "thor"),
    launchers=("bundle exec",),
    runs_no_test=re.compile(r"--dry-run\b|\brake (-T|--tasks|-n|--dry-run)\b"),
    checks=_checks,
    setup=_setup,
    makes="vendor/bundle",
    relock={"Gemfile.lock": "bundle lock"},
    locks=("Gemfile.lock", "gems.locked"),
    home_packages=(".gem", ".local/share/gem"),
    packages=("bin", "lib/ruby/gems"),
    suffixes=(".rb",),
    test="bundle exec rake test",
    install="bundle install",
    egress="ruby",
    counts=(r"(?P<ran>\d+) (runs|tests), \d+ assertions, \d+ failures, \d+ errors, \d+ .*",),
    tools={".rbenv": "RBENV_ROOT"},
    caches={".local/share/gem": "", ".gem/ruby": ""},
    pins=(Pin.usual("rbenv", ".ruby-version"),),
    folders=("vendor", "bundle", ".bundle"),
    copies="An installed gem is not the tree: name the gemspec in the Gemfile, or run with `-Ilib`",
    runners=(Runner(by_names("RSpec's output", rspec, only_failed=True), _RSPEC_END),),
    outline={".rb": MODULES},
    suites=(
        Suite(
            suffixes="rb rake",
            tests="*_test *_spec test_* spec_helper rails_helper test_helper",
            settings=".rspec .rspec-local",
            mixed="Gemfile Rakefile *.gemspec",
            assertion=(
                r"\bexpect\s*[({]|\bassert\w*\b|\brefute\w*\b|\.(?:should|must_\w+|wont_\w+)\b|\bis_expected\b"
            ),
            skip=(
                r"^\s*(?:skip|pending)\b|\b[xf](?:it|describe|context|specify|example)\b"
                r"|,\s*:?(?:skip|pending|focus)\b"
            ),
            test=r"^\s*(?:(?:it|specify|test|example|scenario)\s+(['\"].*?['\"])|def\s+(test_\w+))",
            hash_comments=True,
        ),
    ),
    dependencies=Dependencies(
        lines={"gemfile": r"\s*gem\s+['\"]([\w.-]+)['\"]"},
        locks={"gemfile.lock": r"    ([\w.-]+) \("},
        sources={"gemfile": r"\s*source[ (]\s*['\"]([^'\"]+)"},
        usual="rubygems.org https://rubygems.org",
    ),
    sensitive={"dependency manifest": "gemfile *.gemspec", "lock file": "gemfile.lock"},
    hosts=("rubygems.org", "index.rubygems.org"),
    interpreters=("ruby",),
    actions={
        "ruby/setup-ruby": Action(
            "95ef2b042f9d7a56d8268cba8559e2842e2ad01b # v1.321.0",
            "ruby-version",
            {"bundler-cache": "false"},
            {"ruby-version": (".ruby-version", r"([\w.-]+)")},
        )
    },
    absent=(r"^(?:bundler: )?[Cc]ommand not found: \S+$", "^Could not find gem '"),
    installed_beside={"Gemfile": ("vendor", "vendor/bundle", ".bundle")},
)
