"""Check, repair and refine the section tree with a language model."""

from indexers.enrich.tree.improvement import TreeImprovement, TreePath, improve_tree

__all__ = ["TreeImprovement", "TreePath", "improve_tree"]
