"""Compare predictions from a pilot with studies on real ratings that the pilot did not see.

`planning.tasks` lists the predictions, `execution` makes them and compares them with studies; `design_advice` and
`papers` test advice on designs.
"""
