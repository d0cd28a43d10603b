"""The protected files, which the gate withholds (`gate/path_rules.py`): agents, editors, services or the bot obey them.

`SERVICES` are programs outside GitHub Actions that read a file of any pushed branch and then run something, deploy it
or merge it, most of them with the project's secrets, before anybody has reviewed the change.
"""

from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple, Protocol

from bot.contracts.name_patterns import is_one_of

ROOT_ONLY = (".github",)
# What programs obey on a maintainer's machine unasked: agents, editors, git and its hooks, package managers.
ANYWHERE = """
    codeowners .gitmodules .gitattributes .lfsconfig .git-blame-ignore-revs
    agent.md agents.md agents.*.md claude.md claude.*.md gemini.md skill.md qwen.md crush.md warp.md
    copilot-instructions.md *.instructions.md *.prompt.md *.mdc .*rules .*hints .*guidelines .*instructions
    .cursor* .claude* .codex .agents .gemini* .windsurf* .aider* .cline* .roo* .junie .kiro .amazonq .copilot*
    .continue .opencode opencode.json* .goose .trae .augment* .qwen .kilocode* .openhands .crush* .factory .tabnine*
    .cody .serena .rovodev .codebuddy .lingma .mcp* mcp.json
    .husky .githooks .git-hooks .hooks .pre-commit-*.y*ml prek.toml lefthook* .lefthook* .overcommit.yml
    .simple-git-hooks.* simple-git-hooks.* .captainhook.json captainhook.json .rusty-hook.toml
    .devcontainer .devcontainer.json .vscode .vs *.code-workspace .idea .fleet .zed .gitpod.y*ml .gitpod.dockerfile
    .npmrc pip.conf pip.ini
"""
# A pattern matches a file or folder of that name at any depth, with a slash in front only at the root: services can be
# told to look for a file in a folder of a monorepo, but not for their own folder.
SERVICES = dict(
    line.split(maxsplit=1)
    for line in """
    amplify          amplify.yml
    appveyor         appveyor.y*ml .appveyor.y*ml appveyor-*.y*ml
    atlantis         atlantis.yaml
    azure-pipelines  azure-pipelines*.y*ml .azure-pipelines* .vsts-ci.y*ml /.azuredevops /azure-pipelines
    bitbucket        bitbucket-pipelines.yml
    bitrise          bitrise.y*ml
    bors             bors.toml .bors.toml
    buddy            buddy.y*ml /.buddy
    buildkite        buildkite.y*ml .buildkite.y*ml /.buildkite /buildkite
    circleci         /.circleci
    cirrus           .cirrus.*
    cloudbuild       cloudbuild*.y*ml cloudbuild*.json
    cloudflare       wrangler.toml wrangler.json wrangler.jsonc
    codebuild        buildspec*.y*ml
    codedeploy       appspec.y*ml
    codefresh        codefresh*.y*ml /.codefresh
    codemagic        codemagic.yaml
    codesandbox      /.codesandbox
    codeship         codeship-services.yml codeship-steps.yml
    depot            /.depot
    digitalocean     /.do
    drone            .drone.*
    dependabot       /.dependabot
    earthly          earthfile
    eas              eas.json /.eas
    evergreen        evergreen.y*ml /.evergreen .evergreen.y*ml
    firebase         apphosting*.yaml
    fly              fly.toml fly.*.toml
    forgejo          /.forgejo
    gitea            /.gitea
    gitlab           *.gitlab-ci*.y*ml /.gitlab*
    gitstream        *.cm /.cm
    gocd             *.gocd.y*ml *.gocd.json
    harness          /.harness
    heroku           app.json procfile procfile.* heroku.yml .buildpacks
    jenkins          jenkinsfile jenkinsfile.* jenkinsfile-* *.jenkinsfile
    kodiak           .kodiak.toml
    mergify          .mergify.yml /.mergify
    netlify          netlify.toml
    packit           .packit.y*ml packit.y*ml .packit.json packit.json
    platformsh       /.platform* /.upsun
    prow             .prow.y*ml /.prow .ci-operator.yaml
    railway          railway.json railway.toml nixpacks.toml
    readthedocs      .readthedocs.y*ml readthedocs.y*ml
    render           render.y*ml
    renovate         renovate.json* .renovaterc .renovaterc.*
    scrutinizer      .scrutinizer.yml
    screwdriver      screwdriver.y*ml
    semaphore        /.semaphore
    shippable        shippable.yml
    sourcehut        .build.yml /.builds
    spacelift        /.spacelift
    taskcluster      .taskcluster.yml
    teamcity         /.teamcity
    tekton           /.tekton
    travis           .travis.y*ml
    vercel           vercel.json vercel.ts vercel.js vercel.mjs now.json /.vercel
    wercker          wercker.yml
    woodpecker       .woodpecker*
    xcode-cloud      ci_scripts
    zuul             /.zuul.yaml /zuul.yaml /.zuul.d /zuul.d
    """.strip().splitlines()
)


Kind = Literal["text", "binary", "link", "deletion"]


class MayWrite(Protocol):
    """Returns why a path of the diff may not be written, or `None`.

    `kind` is the content of `path` after the change; for a deleted file "text", or "deletion" if the change deletes
    more than half of the files. `written` is the path's own name if `path` is its form on a file system that ignores
    case: exceptions apply to that."""

    def __call__(self, path: str, kind: Kind = "text", written: str = "", /) -> str | None: ...


class ProtectedFiles(NamedTuple):
    """Returns why a path is protected, or `None`. `lifted` are services whose files may change; `names` are file names
    that are protected in any folder, `policy` is the path of the policy, all in lower case."""

    lifted: Collection[str]
    names: Collection[str] = ()
    policy: str = ""

    def __call__(self, path: str) -> str | None:
        low = path.casefold()
        if low == self.policy or any(f"/{low}".endswith(f"/{name}") for name in self.names):
            return "protected path: the policy or a file that it names"
        if service := next((one for one in services_of(low) if one not in self.lifted), ""):
            lifts = f"`diff: {{services: [{service}]}}`"
            return f"protected path: {service} runs what it says; {lifts} in the policy allows changes to it"
        return None


def services_of(path: str) -> Iterator[str]:
    """Yield the services that read the file at `path` (in lower case)."""
    names = path.split("/")
    for service, patterns in SERVICES.items():
        if any(is_one_of(patterns, name) for name in (f"/{names[0]}", *names)):
            yield service
