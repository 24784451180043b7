"""Binary ratings, adequate or not: posteriors of shares, measurable differences, and the ratings that one takes."""
