"""The folder of a run on disk: layout, lock, removal."""
