"""Which documents: cards, fields, a model's pick."""
