"""Merge folders of one sweep into one (`merge`, which returns `Merged`): check everything, then write.

What is refused is refused before anything is written. Blocks are read as they lie and compared in the order of their
addresses, from all folders at a time, so that memory does not grow with their number.
"""

from simlab.engine.merging.merge import Merged, merge

__all__ = ["Merged", "merge"]
