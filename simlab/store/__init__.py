"""Keep outcomes and measures as Zarr: lay stores, open, query and verify them."""
