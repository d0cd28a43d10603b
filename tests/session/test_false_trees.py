"""Environments made outside of the sandbox, with the tools of each language, that lead tests to other code than the
changed tree: a change that breaks a test is never green. On both back ends."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.session.conftest import Cli
from tests.support.environment_runs import both, fixed, states
from tests.support.model_script import Call
from tests.support.programs import run_program
from tests.support.repositories import make_repository

POLICY = "version: 1\ndiagnostics: {{checkers: []}}\nbring: [{bring}]\nchecks: [{check}]\n"
RED, FAILING = ["passed", "failed"], ["failed", "failed"]
NOT_RUNNABLE = ["not_runnable", "not_runnable"]


def run(*command: str) -> Callable[[Path], None]:
    """Run a command in the checkout, as a person does, without a network."""

    def in_checkout(repo: Path) -> None:
        home = str(repo.parent / "home")
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "GOPROXY": "off",
            "MAVEN_OPTS": f"-Duser.home={home}",
        }
        if (rustup := Path.home() / ".rustup").is_dir():
            environment["RUSTUP_HOME"] = str(rustup)
        ran = run_program(["sh", "-ec", *command], cwd=repo, env=environment)
        if ran.returncode:
            pytest.skip(f"the environment cannot be made here: {(ran.stdout + ran.stderr).strip()[:300]}")

    return in_checkout


def python_copy(repo: Path) -> None:
    """As `pip install .` leaves it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", repo / ".venv"], check=True)
    [site] = repo.glob(".venv/lib/python3*/site-packages")
    shutil.copytree(repo / "src/app", site / "app")


MAVEN = """
    org/apache org/codehaus/plexus org/eclipse/aether org/eclipse/sisu org/sonatype org/ow2 org/junit/junit-bom
    org/tukaani org/iq80 org/hamcrest org/slf4j org/jboss/weld org/assertj com/thoughtworks com/google/guava
    com/google/code com/github/luben aopalliance classworlds junit javax commons-io commons-codec net/java
    """
"""What Maven downloads for a build with tests."""


def maven(repo: Path) -> None:
    """Another module is installed, as `mvn install` leaves it."""
    for name in MAVEN.split():
        if (source := Path.home() / ".m2/repository" / name).is_dir():
            shutil.copytree(source, repo.parent / "home/.m2/repository" / name)
    run("mvn -o -q install")(repo)


@dataclass(frozen=True)
class Case:
    """`make` makes the environment in the checkout. In `broken`, a source, 42 becomes 43, which fails the test of
    `check`. `bubblewrap` and `landlock` are the expected states before and after."""

    program: str
    files: Mapping[str, str]
    make: Callable[[Path], None]
    check: str
    broken: str
    bubblewrap: list[str]
    landlock: list[str]
    bring: str = ""


PYTHON = {
    ".gitignore": ".venv\n",
    "pyproject.toml": "",
    "src/app/__init__.py": "ANSWER = 42\n",
    "tests/test_app.py": (
        "import unittest\nimport app\n\nclass App(unittest.TestCase):\n"
        "    def test_answer(self):\n        self.assertEqual(app.ANSWER, 42)\n"
    ),
}
NODE = {
    ".gitignore": "node_modules\n*.tgz\n",
    "package.json": '{"name": "top", "private": true}',
    "packages/own/package.json": '{"name": "own", "version": "1.0.0", "main": "index.js"}',
    "packages/own/index.js": "module.exports = 42\n",
    "own.test.js": "require('node:test')('own', () => require('assert').equal(require('own'), 42))\n",
}
GO = {
    ".gitignore": "vendor\n",
    "go.mod": (
        "module example.com/app\n\ngo 1.21\n\nrequire example.com/lib v0.0.0\n\nreplace example.com/lib => ./lib\n"
    ),
    "app.go": "package app\n",
    "app_test.go": (
        'package app\n\nimport (\n\t"testing"\n\n\t"example.com/lib"\n)\n\n'
        'func TestAnswer(t *testing.T) {\n\tif lib.Answer != 42 {\n\t\tt.Fatal("no")\n\t}\n}\n'
    ),
    "lib/go.mod": "module example.com/lib\n\ngo 1.21\n",
    "lib/lib.go": "package lib\n\nconst Answer = 42\n",
}
RUBY = {
    ".gitignore": "vendor\n*.gem\n",
    "Gemfile": "",
    "own.gemspec": (
        'Gem::Specification.new do |one|\n  one.name = "own"\n  one.version = "1.0.0"\n  one.summary = "own"\n'
        '  one.authors = ["Mira"]\n  one.files = ["lib/own.rb"]\nend\n'
    ),
    "lib/own.rb": "ANSWER = 42\n",
    "test/own_test.rb": (
        'require "minitest/autorun"\nrequire "own"\n\nclass OwnTest < Minitest::Test\n'
        "  def test_answer\n    assert_equal 42, ANSWER\n  end\nend\n"
    ),
}
PHP = {
    ".gitignore": "vendor\ncomposer.lock\n",
    "composer.json": json.dumps(
        {
            "name": "own/top",
            "repositories": [
                {"packagist.org": False},
                {"type": "path", "url": "packages/lib", "options": {"symlink": False}},
            ],
            "require": {"own/lib": "*@dev"},
            "autoload": {"psr-4": {"Top\\": "src/"}},
        }
    ),
    "packages/lib/composer.json": '{"name": "own/lib", "version": "1.0.0", "autoload": {"psr-4": {"Lib\\\\": ""}}}',
    "packages/lib/Answer.php": "<?php\nnamespace Lib;\nclass Answer { const VALUE = 42; }\n",
    "src/Answer.php": "<?php\nnamespace Top;\nclass Answer { const VALUE = 42; }\n",
    "tests/lib.php": "<?php\nrequire 'vendor/autoload.php';\n$good = Lib\\Answer::VALUE === 42;\n"
    "echo \"1..1\\n\", $good ? '' : 'not ', \"ok 1 - answer\\n\";\nexit($good ? 0 : 1);\n",
    "tests/top.php": "<?php\nrequire 'vendor/autoload.php';\n$good = Top\\Answer::VALUE === 42;\n"
    "echo \"1..1\\n\", $good ? '' : 'not ', \"ok 1 - answer\\n\";\nexit($good ? 0 : 1);\n",
}
C = {
    ".gitignore": "build\n",
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.16)\nproject(app C)\nenable_testing()\n"
        "add_executable(test_app test_app.c answer.c)\nadd_test(NAME answer COMMAND test_app)\n"
    ),
    "answer.c": "int answer(void) { return 42; }\n",
    "test_app.c": "int answer(void);\nint main(void) { return answer() != 42; }\n",
}
BUILD = run("cmake -S . -B build && cmake --build build")

RUST = {
    ".gitignore": "target\n",
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n',
    "src/lib.rs": "pub const ANSWER: i32 = 42;\n",
    "tests/answer.rs": "#[test]\nfn answer() {\n    assert_eq!(app::ANSWER, 42);\n}\n",
}
POM = (
    '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>{}'
    "<artifactId>{}</artifactId>{}</project>"
)
PARENT = "<parent><groupId>own</groupId><artifactId>top</artifactId><version>1-SNAPSHOT</version></parent>"
DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
JAVA = {
    ".gitignore": "target\n",
    "pom.xml": POM.format(
        "<groupId>own</groupId><version>1-SNAPSHOT</version><packaging>pom</packaging>",
        "top",
        "<modules><module>lib</module><module>app</module></modules><properties>"
        "<maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target>"
        "<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties><build><plugins>"
        + "".join(
            f"<plugin><artifactId>maven-{name}-plugin</artifactId><version>{number}</version></plugin>"
            for name, number in (
                ("compiler", "3.14.1"),
                ("surefire", "3.0.0-M7"),
                ("resources", "3.3.1"),
                ("jar", "3.4.2"),
            )
        )
        + "</plugins></build>",
    ),
    "lib/pom.xml": POM.format(PARENT, "lib", ""),
    "lib/src/main/java/Answer.java": "public class Answer { public static int value() { return 42; } }\n",
    "app/pom.xml": POM.format(
        PARENT,
        "app",
        f"<dependencies>{DEPENDENCY.format('own', 'lib', '1-SNAPSHOT')}{DEPENDENCY.format('junit', 'junit', '4.13.1')}"
        "</dependencies>",
    ),
    "app/src/test/java/AnswerTest.java": (
        "public class AnswerTest { @org.junit.Test public void answer() {"
        " org.junit.Assert.assertEquals(42, Answer.value()); } }\n"
    ),
}

CASES = {
    "python, installed": Case("python3", PYTHON, python_copy, "python -m unittest tests/test_app.py",
                              "src/app/__init__.py", RED, RED),
    "python, installed, path removed": Case("python3", PYTHON, python_copy,
        "env -u PYTHONPATH python -m unittest tests/test_app.py", "src/app/__init__.py", NOT_RUNNABLE, NOT_RUNNABLE),
    "node, packed": Case("npm", NODE,
                         run("npm pack ./packages/own && npm install --offline --no-audit --no-save ./own-1.0.0.tgz"),
                         "node --test own.test.js", "packages/own/index.js", NOT_RUNNABLE, NOT_RUNNABLE),
    "go, vendored": Case("go", GO, run("go mod vendor"), "go test ./...", "lib/lib.go", NOT_RUNNABLE, NOT_RUNNABLE),
    "rust, built": Case("cargo", RUST, run("cargo build --offline"), "cargo test --offline", "src/lib.rs", RED, RED),
    "ruby, gem": Case("gem", RUBY,
                      run("gem build own.gemspec && gem install --local -N -i vendor/bundle own-1.0.0.gem"),
                      "GEM_HOME=$PWD/vendor/bundle ruby test/own_test.rb", "lib/own.rb", NOT_RUNNABLE, NOT_RUNNABLE),
    "ruby, gem, from lib": Case("gem", RUBY,
                                run("gem build own.gemspec && gem install --local -N -i vendor/bundle own-1.0.0.gem"),
                                "GEM_HOME=$PWD/vendor/bundle ruby -Ilib test/own_test.rb", "lib/own.rb", RED, RED),
    "php, mirrored": Case("composer", PHP, run("composer install -n -q"), "php tests/lib.php",
                          "packages/lib/Answer.php", NOT_RUNNABLE, NOT_RUNNABLE),
    "php, autoloaded": Case("composer", PHP, run("composer install -n -q"), "php tests/top.php", "src/Answer.php", RED,
                            NOT_RUNNABLE),
    "java, installed": Case("mvn", JAVA, maven, "mvn -o -B -pl app test", "lib/src/main/java/Answer.java", NOT_RUNNABLE,
                            NOT_RUNNABLE),
    "java, built with its tests": Case("mvn", JAVA, maven, "mvn -o -B -pl app -am test",
                                       "lib/src/main/java/Answer.java", RED, RED),
    "c, built": Case("cmake", C, BUILD, "ctest --test-dir build", "answer.c", NOT_RUNNABLE, FAILING, "build"),
    "c, built in the check": Case("cmake", C, BUILD, "cmake --build build && ctest --test-dir build", "answer.c", RED,
                                  FAILING, "build"),
}  # fmt: skip


@pytest.mark.slow
@both
@pytest.mark.parametrize("name", CASES)
def test_a_change_that_breaks_a_test_is_never_green(cli: Cli, tmp_path: Path, sandbox: str, name: str):
    case = CASES[name]
    if shutil.which(case.program) is None:
        pytest.skip(f"{case.program} is not installed")
    policy = POLICY.format(bring=case.bring, check=json.dumps(case.check))
    repo = make_repository(tmp_path / "app", {**case.files, ".github/agent.yml": policy})
    case.make(repo)
    edit = Call("edit", {"path": case.broken, "old": "42", "new": "43"})
    look = Call("view", {"path": case.broken})
    outcome = fixed(cli, repo, sandbox, look, edit, options=["--check-minutes", "30"])
    assert states(outcome) == getattr(case, sandbox), json.dumps(outcome["checks"], indent=1)
