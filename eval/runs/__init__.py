"""A run of a set: what is asked, who answers, and going on with one that was stopped."""
