"""Records that commands answer with: computed by other packages, kept as JSON, read back, and laid out on pages."""
