"""Records of a run: questions, rankings, answers and features. Frozen values."""
