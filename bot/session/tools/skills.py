"""The skills of one run, copied beside the tree when the model loads one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from bot.checkout.clone import Checkout
from bot.contracts.cancel import CancelToken
from bot.contracts.errors import UsageError
from bot.contracts.request import SKILL, Request
from bot.session.context.run import Run
from bot.skills.find import SkillSet, Wanted, commit_skills, session_skills
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


def with_skill_tool(profile: Profile) -> Profile:
    """`profile` with the tool that loads skills."""
    return replace(profile, helper_tools=(*profile.helper_tools, NAME))


class RunSkills:
    """The skills of one conversation; the bundled ones are always among them."""

    def __init__(self, run: Run) -> None:
        self.notes = run.skills.notes
        store = SkillFolder(run.folder.skills, skills_path(run.confinement, run.folder.skills))
        self.tool = SkillTool(run.skills, store)
        self._named = run.request.options.get(SKILL)

    def named(self) -> list[str]:
        """Load the skill that the request names, and return its instructions. Raises `UsageError` if that fails."""
        if not self._named:
            return []
        outcome = self.tool({"command": self._named}, CancelToken())
        if outcome.is_error:
            raise UsageError(outcome.content)
        return self.tool.after_results()

    def carried(self) -> list[str]:
        """What a compacted conversation keeps: the text of the active skill, and the names of the others."""
        text, names = self.tool.carried()
        texts = [text] if text else []
        if names:
            names_text = ", ".join(names)
            texts.append(
                f"Skills that were loaded: {names_text}. Load one again if you still need its instructions."
            )
        return texts

    def end_turn(self) -> None:
        """The model says that it is done."""
        self.tool.end_turn()
