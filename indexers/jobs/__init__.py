"""The jobs of files: how they are claimed, what each stage does with a file, and how the results are written."""
