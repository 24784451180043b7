"""What a report of a sweep is made of: its answer, designs, errors, methods and where its numbers come from."""
