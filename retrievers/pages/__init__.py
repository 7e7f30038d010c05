"""The first stage, page scores, NodeScore, and the walk through the trees."""
