"""The vocabulary, the store and the model clients. Imports nothing of ours."""
