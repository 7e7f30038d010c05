"""Rankers: the engine and the baselines."""
