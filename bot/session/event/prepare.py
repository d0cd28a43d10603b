"""`slash-agent run --prepare`: the environment of `prepare: auto`, before the step that has the model's key.

`key` says under which key the action's cache has it, and `make` installs it if the cache had none. Both check out the
base branch alone, so nothing of a pull request can get into the cache. Setup runs code of that branch, so there is a
key only if it is the default branch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from bot.agent.journal import Journal
from bot.checkout.clone import Checkout, Source, prepare
from bot.contracts.cancel import CancelToken
from bot.contracts.request import Request
from bot.gate.disguised_secrets import Detector
from bot.gate.redact import Redactor
from bot.parsing.parser import Parser
from bot.policy.values import Policy
from bot.session.context.base import (
    Preparation,
    base_finder,
    base_policy,
    base_task,
    detected_at,
    preparation_of,
)
from bot.session.context.github_env import GitHubEnvironment
from bot.session.context.profiles import profile_of
from bot.session.context.secrets import known_secrets
from bot.session.event.event_context import EventOptions
from bot.session.progress.interruption import cancelled_by_signals
from bot.session.run_folder import RunFolder, lock_folder, new_folder, remove_tree
from bot.session.tools.result_tools import propose_writes
from bot.session.workspaces.environment_store import EnvironmentRecord, EnvironmentStore, environment_store
from bot.session.workspaces.network import Network
from bot.session.workspaces.start import Workspaces
from bot.session.workspaces.trees import Trees
from bot.verbs.registry import MODEL_VERBS
from bot.workspace.probe import first_that_holds
from bot.workspace.sandbox.backends import candidates

Say = Callable[[str], None]


def prepare_environment(
    options: EventOptions,
    request: Request,
    where: GitHubEnvironment,
    environment: Mapping[str, str],
    default_branch: str,
    say: Say,
) -> Mapping[str, str]:
    """Return the step's outputs. If there is something to install, that is `key`, or `install` if the cache must not
    be used; after the installation `made` or `canceled`, neither if it failed."""
    if request.verb not in MODEL_VERBS or not profile_of(request).setup:
        return {}
    request = replace(request, pull=None)
    folder = new_folder(environment)
    try:
        with lock_folder(folder.root):
            branch = f"refs/heads/{request.base_ref}"
            checkout = prepare(Source(where.git_url(request.repository), branch, where.token), folder.root)
            with Parser() as parser:
                task = base_task(checkout, request, parser)
                policy = base_policy(checkout, request, task, parser)
            if propose_writes(policy, request, task, lambda record: None):
                return {}
            preparation = preparation_of(policy, checkout, detected_at(checkout, policy))
            store = preparation and environment_store(
                preparation, checkout, options.workspace, environment, request.repository
            )
            if not preparation or not store or store.read():
                return {}
            remove_tree(store.folder.root)
            if options.prepare == "key":
                default = f"refs/heads/{default_branch}"
                is_default = branch == default == environment.get("GITHUB_REF", default)
                return {"key": store.key} if is_default else {"install": "true"}
            installer = _Installer(options, request, environment, folder, checkout, policy)
            return installer.make(preparation, store, say)
    finally:
        folder.drop()


@dataclass(frozen=True, slots=True)
class _Installer:
    options: EventOptions
    request: Request
    environment: Mapping[str, str]
    folder: RunFolder
    checkout: Checkout
    policy: Policy

    def make(self, preparation: Preparation, store: EnvironmentStore, say: Say) -> Mapping[str, str]:
        """Without a network there is nothing to install from, and the run says so."""
        confinement = first_that_holds(*candidates(self.options.sandbox)).confinement
        if not confinement.supports_egress:
            return {}
        checkout, policy = self.checkout, replace(self.policy, setup=preparation.setup)
        redact = Detector(Redactor(known_secrets(self.environment)), base_finder(checkout, policy)).masked
        network = Network(policy, self.request, profile_of(self.request), self.environment)
        store.folder.root.mkdir(mode=0o700, parents=True)
        stop = CancelToken()
        with Journal(self.folder.journal, redact) as journal, cancelled_by_signals(stop):
            workspaces = Workspaces(
                checkout,
                confinement,
                store.folder,
                str(self.options.workspace),
                self.environment,
                skills=None,
                journal=journal,
                network=network,
                limits=policy.sandbox.limits,
            )
            trees = Trees(
                checkout,
                store.folder,
                workspaces.start_commands,
                policy.setup,
                origin=self.options.workspace,
                say=lambda text: say(redact(text)),
                restrict=network.restrict,
                prepared_from=preparation.sha,
            )
            trees.begin(stop)
            installed = trees.setup_files()
        if stop.fired:
            return {"canceled": "true"}
        store.write(EnvironmentRecord(installed, trees.failure))
        remove_tree(store.folder.prepared / ".git")
        return {} if trees.failure else {"made": "true"}
