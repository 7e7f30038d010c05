"""Models: language and vision models, embedders, and the use of models to improve indexed documents."""
