"""Ranking of pages: the ranking model, the walk through the section trees, and the selection of results."""
