"""Post a bundle's review as one review on GitHub. Anchors are computed again from the fetched commits."""
