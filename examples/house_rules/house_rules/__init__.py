"""Hold the parts of this plug-in."""
