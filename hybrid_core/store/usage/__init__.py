"""What models were used for."""
