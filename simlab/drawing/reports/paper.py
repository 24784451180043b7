"""Return parts of a `Report` for papers, notes and terminals: its paragraph, and tables in place of charts."""

from __future__ import annotations

from simlab.drawing.reports import chart_tables
from simlab.drawing.reports.terms import Block, Chart, Drill, Explorer, PairMatrix, Report, ReportTable, Section
from simlab.drawing.reports.values import format_value


def paragraph(report: Report) -> str:
    """Return the paragraph of a report, or else its answer and what it holds fixed, as sentences."""
    if report.paragraph:
        return report.paragraph
    fixed_sentence = f"Held fixed: {'; '.join(report.held_fixed)}." if report.held_fixed else ""
    return " ".join(filter(None, (*report.answer, fixed_sentence)))


def still_blocks(section: Section) -> tuple[Block, ...]:
    """Return the blocks of a section without interaction: in place of a chart its table, and each table once.

    Tables hold numbers of several kinds, so that they are told apart by what is written.
    """
    shown = [still_block(block) for block in section.blocks]
    return tuple({repr(block): block for block in shown}.values())


def still_block(block: Block) -> Block:
    """Return a block without interaction: in place of a chart the table behind it, any other as it is."""
    if isinstance(block, Explorer | Drill):
        return block.table
    if isinstance(block, PairMatrix):
        return chart_tables.pairs(block)
    return chart_tables.table(block) if isinstance(block, Chart) else block


def figures_table(report: Report) -> ReportTable | None:
    """Return the key figures of a report (`report.figures`) as a table; None where it has none."""
    # As they stand by themselves: a column has the decimals of its smallest error.
    rows = tuple((value.label, format_value(value)) for value in report.figures)
    return ReportTable("In numbers", ("what", "value"), rows) if rows else None
