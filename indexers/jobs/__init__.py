"""The runner: jobs are claimed, their files' stages are taken, and what became of them is written."""
