"""The bundle: a folder with everything that `publish` needs, written by one job and read by another."""
