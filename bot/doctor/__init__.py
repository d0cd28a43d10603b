"""What a repository needs for the bot, and whether it is there: `doctor` looks, `init` writes."""
