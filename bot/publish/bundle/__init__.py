"""The bundle: a folder that holds everything `publish` needs, written by one job and read by another."""
