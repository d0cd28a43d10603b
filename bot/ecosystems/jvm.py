"""Java, Kotlin and Scala: Maven and Gradle."""

import re
from collections.abc import Iterator, Sequence

from bot.ecosystems.record import CLASSES, Action, Ecosystem, Files, Suite, listed, uses
from bot.ecosystems.test_command import plain_words

_SUFFIXES = listed(".java; .kt; .kts; .scala; .groovy")
_TEST_CLASS = re.compile(r"(?:^|/)src/test/java/(?:[\w/]+/)?(\w+Test)\.java$")
_ONE_TEST = (
    "-Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dmaven.test.failure.ignore=true "
    "-Dmaven.install.skip=true"
)
"""No module is installed: others would take it for the tree."""


def _checks(files: Files) -> Iterator[str]:
    if "pom.xml" in files.paths:
        yield f"{_program(files, 'mvn')} -B test"
    elif not {"build.gradle", "build.gradle.kts"}.isdisjoint(files.paths):
        yield f"{_program(files, 'gradle')} test"


def _program(files: Files, name: str) -> str:
    return f"./{name}w" if f"{name}w" in files.paths else name


def _setup(files: Files, checks: Sequence[str]) -> str:
    """Run one test class by the first check, which may need plugins of its own: Maven resolves some only then. Gradle
    reads the proxy from Maven's options."""
    if "pom.xml" not in files.paths:
        return f"{_program(files, 'gradle')} testClasses $MAVEN_OPTS"
    names = (match[1] for path in files.paths if (match := _TEST_CLASS.search(path)))
    tests = sorted(names, key=lambda name: (len(name), name))
    chosen = f" -Dtest={tests[0]}" if tests else ""
    program = _program(files, "mvn")
    lines = (" ".join(plain_words(one)) for one in checks[:1])
    own = (one for one in lines if re.fullmatch(rf"{re.escape(program)}(?!.*deploy)( [\w.:=,/-]+)+", one))
    return f"{next(own, f'{program} -B verify')}{chosen} {_ONE_TEST}"


ASSERTION = (
    r"\b(?:assert\w*|verify\w*|fail|expectThrows|should\w*)\s*[({]|^\s*assert\b|\bAssert(?:ions)?\.\w+\s*\("
)
SKIP = r"@(?:Ignore|Disabled)|\bassum\w+\s*\(|\benabled\s*=\s*false|\[\s*Ignore|\bSkip\s*="
TEST = r"@(?:Test|ParameterizedTest|RepeatedTest)\b|\[\s*(?:Fact|Theory|Test|TestMethod)\b"
"""With annotations, in Java and in C#."""


# Maven 3.9 asks for the last one, older ones do not.
_PROXY = (
    "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={proxy} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={proxy} "
    "-Daether.connector.http.useSystemProperties=true"
)


ECOSYSTEM = Ecosystem(
    name="jvm",
    manifests=("pom.xml", "build.gradle", "build.gradle.kts"),
    uses=uses(
        NONE="mvn deploy; mvnw deploy; mvn site; mvnw site; gradle publish; gradlew publish; sbt docs/tlSite",
        INSTALL="mvn dependency:go-offline; mvnw dependency:go-offline; mvn dependency:resolve",
        LINT="""
            mvn checkstyle:check; mvnw checkstyle:check; mvn spotless:check; mvnw spotless:check;
            gradle spotlessCheck; gradlew spotlessCheck; sbt scalafmtCheckAll; sbt headerCheckAll;
            sbt githubWorkflowCheck; sbt mimaReportBinaryIssues; sbt scalafixAll""",
        TESTS="""
            mvn test; mvn verify; mvn install; mvn package; mvnw test; mvnw verify; mvnw install; mvnw package;
            gradle test; gradle check; gradle build; gradlew test; gradlew check; gradlew build; sbt test; sbt""",
        BUILD="mvn; mvnw; gradle; gradlew; sbt Test/nativeLink; sbt Test/scalaJSLinkerResult; sbt doc",
    ),
    runs_no_test=re.compile(
        r"-D(skipTests|maven\.test\.skip)\b(?!=false)|-x (:\S+:)?test\b|--(dry-run|test-dry-run)\b| -m\b"
    ),
    checks=_checks,
    setup=_setup,
    locks=listed("""
        pom.xml; *.gradle; *.gradle.kts; gradle.lockfile; *.versions.toml;
        *-wrapper.properties"""),
    home_packages=listed(".m2/repository; .m2/wrapper; .gradle/caches/modules-2; .gradle/wrapper"),
    compiles=True,
    suffixes=_SUFFIXES,
    test="mvn test",
    install="mvn test-compile",
    egress="java",
    reports=(
        "**/target/surefire-reports/TEST-*.xml",
        "**/target/failsafe-reports/TEST-*.xml",
        "**/target/test-reports/TEST-*.xml",
        "**/build/test-results/**/TEST-*.xml",
    ),
    counts=(r"(\[\w+\] )?Tests run: (?P<ran>\d+), Failures: \d+, Errors: \d+, Skipped: \d+(, Flakes: \d+)?",),
    tools={".sdkman": "SDKMAN_DIR"},
    # Maven's repository is copied, since Maven writes beside what it reads. Of Gradle's, all but locks and `gc` files.
    caches={
        ".m2/wrapper": "",
        ".gradle/wrapper": "",
        ".gradle/caches/modules-2/*-*": "GRADLE_RO_DEP_CACHE={home}/.gradle/caches",
    },
    copies="A module installed in ~/.m2 is not the tree: build it with the tests (`mvn -pl MODULE -am test`)",
    outline=dict.fromkeys(_SUFFIXES, CLASSES),
    suites=(
        Suite(
            suffixes="java kt kts groovy scala",
            tests="*Test *Tests *TestCase *IT",
            settings="junit-platform.properties testng.xml",
            mixed="pom.xml build.gradle build.gradle.kts build.sbt gradle.properties",
            assertion=ASSERTION,
            skip=SKIP,
            test=TEST,
        ),
    ),
    sensitive={
        "dependency manifest": """
            pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts build.sbt""",
        "lock file": "gradle.lockfile",
        "configuration": "gradlew.bat mvnw.cmd *.kts",
    },
    hosts=listed("repo.maven.apache.org; repo1.maven.org; plugins.gradle.org; plugins-artifacts.gradle.org"),
    interpreters=("java",),
    actions={
        "actions/setup-java": Action(
            "c5195efecf7bdfc987ee8bae7a71cb8b11521c00 # v4.7.1",
            "java-version distribution java-package architecture",
        )
    },
    passed=("JAVA_HOME",),
    # Java takes the home from the list of users otherwise, and reads no variable for a proxy.
    settings=dict.fromkeys(("MAVEN_OPTS", "GRADLE_OPTS"), "-Duser.home={home}"),
    online={"MAVEN_OPTS": _PROXY},
    build_caches=("~/.gradle/caches",),
    forget="rm -rf ~/.gradle/caches/build-cache-*",
    copied={"pom.xml": ".m2/repository"},
)
