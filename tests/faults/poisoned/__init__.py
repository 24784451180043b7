"""A package of parts that spoil what others return."""
