"""Models: language and vision models, embedders, and how documents are improved by them."""
