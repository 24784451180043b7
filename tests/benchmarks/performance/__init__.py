"""Make the table of docs/performance.md: what simlab takes now, and took at an earlier commit."""
