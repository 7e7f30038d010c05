"""Models: language and vision models, embedders, and the improvement of documents by them."""
