"""Measures of rankings and answers, their significance, and comparisons of runs."""
