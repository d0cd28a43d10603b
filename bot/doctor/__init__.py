"""What a repository needs for the bot: `doctor` checks it, `init` writes it."""
