"""The skills of one run: found at the base while other things wait, copied beside the tree when the model loads one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from bot.agent.journal_file import JournalFile
from bot.agent.replay import recorded_calls
from bot.checkout.clone import Checkout
from bot.contracts.journal import Permitted
from bot.run.background import Background
from bot.run.folder import RunFolder
from bot.run.lent import LentModels
from bot.run.profiles import Profile
from bot.run.tools import PRE_APPROVED, PreApproved
from bot.sandbox.confinement import Confinement
from bot.skills.find import Found, bundled, chosen, of_commit
from bot.skills.grants import ActiveGrants
from bot.skills.shelf import Shelf
from bot.skills.tool import NAME, SkillTool
from bot.workshop.client.plan import skills_place


def begin_to_find(checkout: Checkout) -> Background[Found]:
    """Those of the base, whose policy is kept as well, and the bundled ones; never those of a pull request's head."""
    commit = checkout.policy_sha or checkout.base_sha
    return Background(lambda: chosen([*of_commit(checkout.git, commit), bundled()]), "skills")


def recorded_approvals(recorded: JournalFile) -> PreApproved:
    """For a replay: what the skills of the recorded run answered, where policy would have asked."""
    rules = {line.call_id: line.rule for line in recorded.records(Permitted) if line.allow}
    approved: dict[tuple[str, str], str] = {}
    for call in recorded_calls(recorded):
        _, answered, who = rules.get(call.call.id, "").partition(PRE_APPROVED)
        if answered:
            approved[call.call.name, _canonical(_object(call.call.arguments))] = who
    return lambda tool, arguments: approved.get((tool, _canonical(arguments)), "")


def _object(text: str) -> Mapping[str, Any]:
    """A call's arguments; what the toolbox had to mend first is matched by nothing, and then stays denied."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _canonical(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True)


class RunSkills:
    """`tool` is `None` where there is no skill; `folder` is what the agent's workshop must show then."""

    def __init__(
        self, found: Found, folder: RunFolder, confinement: Confinement, root: str, models: LentModels
    ) -> None:
        """`root` is the work tree as the tools see it; `models` are those that a skill may ask for."""
        self.notes = found.notes
        self.folder = folder.skills if found.held else None
        shelf = Shelf(self.folder, skills_place(confinement, self.folder)) if self.folder else None
        self._of = (found, shelf, root)
        self._agents: list[RunSkills] = []
        self._begin(models)

    def _begin(self, models: LentModels) -> None:
        found, shelf, root = self._of
        self.models = models
        self.grants = ActiveGrants(root)
        self.tool = SkillTool(found.held, shelf, self.grants, models) if shelf else None

    def of_agent(self) -> RunSkills:
        """The same skills for a subagent: none of them loaded, with grants and a model of its own."""
        made = copy(self)
        made._agents = []
        made._begin(self.models.of_another())
        self._agents.append(made)
        return made

    def close(self) -> None:
        """Let go of the models that were lent."""
        for agent in self._agents:
            agent.close()
        self.models.close()

    @property
    def tools(self) -> tuple[SkillTool, ...]:
        return (self.tool,) if self.tool else ()

    def offered_by(self, profile: Profile) -> Profile:
        """`profile` with the tool, where there is one."""
        if self.tool is None:
            return profile
        return replace(profile, aids=(*profile.aids, NAME))

    def after_results(self) -> list[str]:
        """The texts of the skills that were loaded in the turn."""
        return self.tool.after_results() if self.tool else []

    def carried(self) -> list[str]:
        """For a conversation that becomes shorter: the skill that is being followed stays word for word; of others the
        names stay, and they may be loaded again."""
        text, names = self.tool.carried() if self.tool else ("", [])
        kept = [text] if text else []
        if names:
            listed = ", ".join(names)
            kept.append(
                f"Skills that were loaded: {listed}. Load one again if you still need its instructions."
            )
        return kept

    def end_turn(self) -> None:
        """The model says that it is done: nothing is pre-approved from here on, and the session's own model answers."""
        if self.tool:
            self.tool.end_turn()
        self.grants.end()
        self.models.end()
