"""Studies in which single outputs are judged and a metric may join in."""

from simlab.studies.judgements.declaring import KIND

__all__ = ["KIND"]
