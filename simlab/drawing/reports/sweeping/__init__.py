"""Parts of a report on a sweep: its answer, designs, errors, methods and where its numbers come from.

`store_view.view_store` comes first: the other modules take the `StoreView` that it returns, as `seen`.
"""
