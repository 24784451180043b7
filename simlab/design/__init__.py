"""Parts of a design: documents, groupings, loads."""
