"""Write answers as tables."""
