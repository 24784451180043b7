"""Read tables and fitted worlds from files."""
