"""Every kind of study: what it collects, what it concludes, how that is appraised."""
