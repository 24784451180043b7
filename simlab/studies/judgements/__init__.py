"""Studies in which single outputs are judged and a metric may join in."""
