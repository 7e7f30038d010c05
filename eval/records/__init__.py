"""Records of a run, as frozen values: questions, rankings, answers and features."""
