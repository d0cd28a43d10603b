"""The HTML page and the job summary of a run, made from its journal."""
