"""Pictures and files that people attach to issues and comments: fetched from GitHub's attachment hosts for the
model."""
