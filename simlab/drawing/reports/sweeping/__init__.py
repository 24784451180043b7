"""Parts of a report on a sweep: its answer, designs, errors, methods and where its numbers come from."""
