"""Plain texts for a terminal: lines, tables and paragraphs of answers, plans and stores."""
