"""Public question sets, each a small adapter. Nothing is downloaded: a missing set is an error saying where it is."""

from eval.datasets.registry import NAMES, SOURCES, Source, data_folder, load

__all__ = ["NAMES", "SOURCES", "Source", "data_folder", "load"]
