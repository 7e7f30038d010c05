"""The section tree, checked, repaired and made finer by a language model."""

from indexers.enrich.tree.improvement import TreeImprovement, TreePath, improve_tree

__all__ = ["TreeImprovement", "TreePath", "improve_tree"]
