"""Pages that calculate: one file each, that anybody can open and that sends nothing anywhere."""
