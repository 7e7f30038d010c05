"""Which documents a question is looked for in, where the caller says how to choose them or a model may be asked."""
