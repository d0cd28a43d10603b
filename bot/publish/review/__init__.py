"""Post a bundle's review as one review on GitHub, with anchors computed again from what is fetched here."""
