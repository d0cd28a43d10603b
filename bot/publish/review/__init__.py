"""A bundle's review, made anew on what is fetched here, as one review on GitHub."""
