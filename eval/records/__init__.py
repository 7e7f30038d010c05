"""What a run writes down: questions, rankings, answers. Frozen values."""
