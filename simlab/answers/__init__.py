"""What each command answers, as records: computed below, kept as JSON, read back, and laid out on pages."""
