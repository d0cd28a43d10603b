"""As much of GitHub's GraphQL API as a client of pull requests needs: the language, and a few types."""
