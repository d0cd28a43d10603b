"""The patch format: `grammar` parses it, `locate` finds the place of each section, `overlay` computes the changed
files."""
