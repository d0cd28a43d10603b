"""How fast and how small Slash Agent is, measured on the machine at hand: `make bench` and `make bench-peers`.

Read `docs/bench.md` first. Nothing here is part of the product, and nothing of it is imported by the product.
"""
