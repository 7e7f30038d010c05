"""Records of an evaluation run, as frozen values: questions, rankings, answers and features."""
