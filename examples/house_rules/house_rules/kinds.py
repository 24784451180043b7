"""Register the kinds of studies of this plug-in."""

from house_rules.best_of_four import KIND

KINDS = (KIND,)
