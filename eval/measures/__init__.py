"""What rankings and answers are worth: measures, their significance, runs compared."""
