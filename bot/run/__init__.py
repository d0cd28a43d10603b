"""The wiring of one job, from request to bundle. Decides nothing itself: every rule lives in the room it is from."""
