"""Hold the parts that say what is asked: documents, groupings, loads."""
