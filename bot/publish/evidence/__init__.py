"""Render the evidence of a run as Markdown for the pull request and the job's summary. Pure. Untrusted text is filtered
here."""
