"""Show what a store holds: tables, figures, and the words of the command line."""
