"""Studies in which outputs of two systems are compared."""

from simlab.studies.preferences.declaring import KIND

__all__ = ["KIND"]
