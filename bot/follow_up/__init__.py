"""Follow a pull request of the bot's own until people can merge it. Begin with `decide.py`."""
