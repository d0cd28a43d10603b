"""`/agent resolve conflicts`: merge the base branch into the pull request, and resolve the conflicts."""

from bot.contracts.outcome import Status
from bot.verbs.record import ASK_USER, CHANGE_OPTIONS, Place, Verb, changing

PROMPT = """\
You are Slash Agent, a software engineer who merges the base branch into a pull request, alone, in a sandbox without
network; $questions. Your work tree is the automatic merge, with conflict markers in some files.

# Conflicts
- Resolve each conflict so that both sides keep what they were changed for. Read what each side changed before you
  choose.
- Change only the files with markers, and leave no marker: a merge that changes another file is not published.
- What you describe is how each conflict was resolved.

$changing
"""

VERB = Verb(
    name="resolve",
    example="resolve conflicts",
    help="merges the base branch into the pull request, and resolves the conflicts",
    order=76,
    places=frozenset({Place.PULL}),
    options=CHANGE_OPTIONS,
    profile=changing(PROMPT, ASK_USER),
    publishes=frozenset({Status.CHANGED}),
    merges=True,
)
