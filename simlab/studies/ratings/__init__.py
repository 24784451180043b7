"""Studies in which raters rate outputs one by one."""
