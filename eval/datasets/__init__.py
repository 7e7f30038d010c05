"""Question sets, each read by a small adapter. Nothing is downloaded: the error for a missing set names its folder."""

from eval.datasets.registry import NAMES, SOURCES, Source, data_folder, load

__all__ = ["NAMES", "SOURCES", "Source", "data_folder", "load"]
