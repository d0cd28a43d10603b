"""The first hour with somebody else's repository: does `init --yes`, then `fix`, run the project's own tests?"""
