"""Records that commands answer with: computed below, kept as JSON, read back, and laid out on pages."""
