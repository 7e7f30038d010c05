"""What is known of each candidate page, as columns of numbers, and the model that adds them up."""
