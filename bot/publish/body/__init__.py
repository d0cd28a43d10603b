"""The pull request's title and text, made of an outcome. Pure."""
