"""The repository's convention for titles: read from the base commit, told to the model, checked before publishing."""
