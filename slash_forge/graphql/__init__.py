"""The part of GitHub's GraphQL API that a client of pull requests needs."""
