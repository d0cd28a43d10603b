"""What a run proved, as people read it: in the pull request and in the job's summary. Pure; what others wrote goes
through the filters here, so that all of it is Markdown."""
