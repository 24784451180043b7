"""Draw text and figures: starts no work, computes no statistics."""
