"""The input of a run: base commit, instructions, verb profile, environment, secrets."""
