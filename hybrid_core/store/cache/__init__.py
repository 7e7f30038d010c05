"""What can be made again, in a file of its own."""
