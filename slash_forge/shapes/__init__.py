"""Convert the forge's values to GitHub's JSON, without side effects."""
