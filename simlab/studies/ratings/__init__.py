"""Studies in which raters rate outputs one by one."""

from simlab.studies.ratings.declaring import KIND

__all__ = ["KIND"]
