"""One file a command: words in, one answer out."""
