"""Pictures that people put into issues and comments, from GitHub's own attachment hosts to a model that can see."""
