"""Data sets of documents and questions, each read by a small adapter. Nothing is downloaded.

The error for a missing set says into which folder its files belong.
"""

from eval.datasets.registry import NAMES, SOURCES, Source, data_folder, load

__all__ = ["NAMES", "SOURCES", "Source", "data_folder", "load"]
