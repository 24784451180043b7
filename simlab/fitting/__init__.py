"""Make worlds from real ratings, and hold what they predict against what was observed."""
