"""The candidate pages of a question and their features, as columns of numbers."""
