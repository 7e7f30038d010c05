"""What stands before every route: from where a request comes, who sends it, how much of it, how often."""
