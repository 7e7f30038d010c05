"""The section tree, checked, repaired and made finer by a language model."""

from indexers.enrich.tree.improve import TreeImproved, TreePath, improve_tree

__all__ = ["TreeImproved", "TreePath", "improve_tree"]
