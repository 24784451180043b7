"""`ReadTable`, the record of what a command read: counts of the table's ratings, systems, documents and raters."""

from __future__ import annotations

from simlab.answers.records import Count, Num, Record


class ReadTable(Record, extra="allow"):
    """Content of a table: `used` ratings or comparisons of `systems`; null is what it does not name or have.

    `gaps` counts rows without a score, `ties` is the share of comparisons without a winner, `better` is "higher" or
    "lower". Readers of tables add what else they found (rows, remarks, names of columns).
    """

    used: Count
    systems: Count
    documents: Count | None = None
    items: Count | None = None
    pairs: Count | None = None
    raters: Count | None = None
    gaps: Count = 0
    ties: Num | None = None
    better: str | None = None
    scale: tuple[Num, Num] | None = None
