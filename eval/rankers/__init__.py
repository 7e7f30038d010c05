"""What is measured: the engine and the baselines."""
