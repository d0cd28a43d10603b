"""`/agent update`: merge the base branch into the pull request. A model is asked only if there are conflicts."""

from bot.verbs import resolve

VERB = resolve.VERB._replace(
    name="update", example="update", help="merges the base branch into the pull request", order=77
)
