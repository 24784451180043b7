"""Laws of answers: errors marked, outputs compared, outputs judged."""
