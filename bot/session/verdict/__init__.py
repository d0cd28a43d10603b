"""The gate's verdict on a work tree, and the status and outcome that follow from it."""
