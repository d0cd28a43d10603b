"""The skills of one run, copied beside the tree when the model loads one, and the model that a skill may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import AgentError, UsageError
from bot.contracts.model import Provider
from bot.contracts.request import SKILL, Request
from bot.policy.values import Policy
from bot.providers.replay import RECORDED
from bot.providers.streaming import apply_overrides
from bot.session.context.run import Run
from bot.skills.find import SkillSet, Wanted, commit_skills, session_skills
from bot.skills.grants import ActiveGrants
from bot.skills.tool import NAME, SkillFolder, SkillTool
from bot.verbs.record import Profile
from bot.workspace.start import skills_path


def find_skills(checkout: Checkout, user: Mapping[str, str], request: Request) -> SkillSet:
    """Find the skills of the base, never those of a pull request's head, those of the person whose environment is
    `user` (an empty one has none) and the bundled ones. Raises `UsageError` if the request names one that is not
    there."""
    commit = checkout.policy_sha or checkout.base_sha
    wanted = Wanted(request.instruction or "", request.options.get(SKILL, ""))
    return session_skills(user, commit_skills(checkout.git, commit), wanted)


def with_skill_tool(profile: Profile, skills: SkillSet) -> Profile:
    """`profile` with the tool that loads skills, where there are some."""
    return replace(profile, helper_tools=(*profile.helper_tools, NAME)) if skills.skills else profile


class SkillModels:
    """The model that a skill runs with, for one conversation. `own` returns the conversation's model by name; `connect`
    makes a provider for another one, `None` if there is no other. `opened` are the providers of all conversations."""

    def __init__(
        self,
        own: Callable[[], str],
        policy: Policy,
        connect: Callable[[str], Provider] | None,
        opened: list[Provider] | None = None,
    ) -> None:
        self._opened = [] if opened is None else opened
        self._own = own
        self._policy = policy
        self._connect = connect
        self._connected: dict[str, Provider] = {}
        self._current: Provider | None = None

    def for_agent(self) -> SkillModels:
        """A new one for another conversation: a provider serves one."""
        return SkillModels(self._own, self._policy, self._connect, self._opened)

    @property
    def provider(self) -> Provider | None:
        """The provider in place of the conversation's own, or `None`."""
        return self._current

    def is_own(self, name: str) -> bool:
        own = self._own()
        return name in ("", "inherit", own, own.partition("/")[2])

    def refusal(self, name: str) -> str:
        """Why a skill does not get the model `name`, as a clause; empty if it is connected."""
        allowed = self._policy.options.models
        if not allowed:
            return "the policy's `options: models` lists none that a skill may have"
        if name.startswith(RECORDED) or not any(fnmatchcase(name, one) for one in allowed):
            return "the policy's `options: models` does not list it"
        if self._connect is None:
            return "there is no other model here"
        if name not in self._connected:
            try:
                self._connected[name] = apply_overrides(self._connect(name), self._policy.models)
            except AgentError as error:
                return " ".join(str(error).rstrip(".").split())[:200]
            self._opened.append(self._connected[name])
        return ""

    def begin(self, name: str) -> None:
        """Use the model `name` from the next request on; the conversation's own if it was refused."""
        self._current = None if self.is_own(name) else self._connected.get(name)

    def end(self) -> None:
        self._current = None

    def close(self) -> None:
        """Close the providers of all conversations."""
        self._current = None
        for provider in self._opened:
            provider.close()


class RunSkills:
    """The skills of one conversation. `tool` is `None` without skills; `folder` is shown to the agent's workspace."""

    def __init__(self, run: Run, models: SkillModels) -> None:
        self.notes = run.skills.notes
        self.models = models
        self.grants = ActiveGrants(run.root)
        self.folder = run.folder.skills if run.skills.skills else None
        self.tool: SkillTool | None = None
        if self.folder is not None:
            store = SkillFolder(self.folder, skills_path(run.confinement, self.folder))
            self.tool = SkillTool(run.skills, store, self.grants, models)
        self._run = run

    def for_agent(self) -> RunSkills:
        """The same skills for a subagent, none loaded, with its own grants and model."""
        return RunSkills(self._run, self.models.for_agent())

    @property
    def tools(self) -> tuple[SkillTool, ...]:
        return (self.tool,) if self.tool else ()

    def named(self) -> list[str]:
        """Load the skill that the request names, and return its instructions. Raises `UsageError` if that fails."""
        name = self._run.request.options.get(SKILL)
        if not name or self.tool is None:
            return []
        outcome = self.tool({"command": name}, CancelToken())
        if outcome.is_error:
            raise UsageError(outcome.content)
        return self.after_results()

    def after_results(self) -> list[str]:
        """The texts of the skills that were loaded in the turn."""
        return self.tool.after_results() if self.tool else []

    def carried(self) -> list[str]:
        """What a compacted conversation keeps: the text of the active skill, and the names of the others."""
        text, names = self.tool.carried() if self.tool else ("", [])
        texts = [text] if text else []
        if names:
            names_text = ", ".join(names)
            texts.append(
                f"Skills that were loaded: {names_text}. Load one again if you still need its instructions."
            )
        return texts

    def end_turn(self) -> None:
        """The model says that it is done: end the grants, and return to the session's own model."""
        if self.tool:
            self.tool.end_turn()
        self.grants.end()
        self.models.end()
