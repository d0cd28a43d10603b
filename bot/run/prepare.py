"""`slash-agent run --prepare`: the environment of `prepare: auto`, before the step that has the model's key.

`key` says under which key the action's cache has it, and `make` installs it if the cache had none. Both check out the
base branch alone, so nothing of a pull request can get into the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from bot.agent.journal import Journal
from bot.checkout.clone import Checkout, Source, prepare
from bot.contracts.cancel import CancelToken
from bot.contracts.request import Request
from bot.gate.detect import Detector
from bot.gate.redact import Redactor
from bot.policy.schema import Policy
from bot.run.base import Preparation, base_finder, base_policy, base_task, preparation_of
from bot.run.folder import RunFolder, new_folder
from bot.run.github_env import GitHubEnvironment
from bot.run.lock import held
from bot.run.network import Network
from bot.run.profiles import MODEL_VERBS, profile_of
from bot.run.removal import remove
from bot.run.secrets import known_secrets
from bot.run.signals import cancelled_by_signals
from bot.run.store import EnvironmentStore, Record, environment_store
from bot.run.trees import Trees
from bot.run.workshops import Workshops
from bot.run.writing import propose_writes
from bot.sandbox.choose import candidates
from bot.workshop.client.wall import first_that_holds

if TYPE_CHECKING:
    from bot.run.event import EventRun

Phase = Literal["key", "make"]
Say = Callable[[str], None]


def prepare_environment(
    asked: EventRun, request: Request, where: GitHubEnvironment, environment: Mapping[str, str], say: Say
) -> Mapping[str, str]:
    """The step's outputs: `key` if there is something to install that is not there, and what came of installing it:
    `made` or `canceled`, neither if it failed."""
    if request.verb not in MODEL_VERBS or not profile_of(request).setup:
        return {}
    request = replace(request, pull=None)
    folder = new_folder(environment)
    try:
        with held(folder.root):
            branch = f"refs/heads/{request.base_ref}"
            checkout = prepare(Source(where.git_url(request.repository), branch, where.token), folder.root)
            task = base_task(checkout, request)
            policy = base_policy(checkout, request, task)
            if propose_writes(policy, request, task, lambda record: None):
                return {}
            preparation = preparation_of(policy, checkout)
            store = preparation and environment_store(preparation, checkout, asked.workspace, environment)
            if not preparation or not store or store.read():
                return {}
            remove(store.folder.root)
            if asked.prepare == "key":
                return {"key": store.key}
            making = _Making(asked, request, environment, folder, checkout, policy)
            return making.make(preparation, store, say)
    finally:
        folder.drop()


class _Making:
    def __init__(
        self, asked: EventRun, request: Request, environment: Mapping[str, str], folder: RunFolder,
        checkout: Checkout, policy: Policy,
    ) -> None:  # fmt: skip
        self.asked = asked
        self.request = request
        self.environment = environment
        self.folder = folder
        self.checkout = checkout
        self.policy = policy

    def make(self, preparation: Preparation, store: EnvironmentStore, say: Say) -> Mapping[str, str]:
        """Without a network there is nothing to install from, and the run says so."""
        confinement = first_that_holds(*candidates(self.asked.sandbox)).confinement
        if not confinement.gives_way_out:
            return {}
        checkout, policy = self.checkout, replace(self.policy, setup=preparation.setup)
        kept = Detector(Redactor(known_secrets(self.environment)), base_finder(checkout, policy)).kept
        network = Network(policy, self.request, profile_of(self.request), self.environment)
        store.folder.root.mkdir(mode=0o700, parents=True)
        stop = CancelToken()
        with Journal(self.folder.journal, kept) as journal, cancelled_by_signals(stop):
            workshops = Workshops(
                checkout, confinement, store.folder, str(self.asked.workspace), self.environment, None, journal,
                network, policy.sandbox.limits,
            )  # fmt: skip
            trees = Trees(
                checkout, store.folder, workshops.of_commands, policy.setup, (), self.asked.workspace,
                lambda text: say(kept(text)), network.hold_to, prepared_from=preparation.sha,
            )  # fmt: skip
            trees.begin(stop)
            made = trees.made()
        if stop.fired:
            return {"canceled": "true"}
        store.write(Record(made, trees.failure))
        remove(store.folder.prepared / ".git")
        return {} if trees.failure else {"made": "true"}
