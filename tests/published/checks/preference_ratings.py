"""Average what tables 4 and 5 of Deriu et al. 2023 list, for what the paper says of it elsewhere."""

from __future__ import annotations

from statistics import mean

from scipy.special import betaincc

COLUMNS = ("correct", "inversion", "omission", "insertion", "kld", "annotations")
NAIVE = """
Chatbot
deb .60 .00 .07 .33 .39
grade .53 .07 .20 .20 .53
holistic .27 .20 .13 .40 .57
maude .40 .13 .13 .34 .42
usl .53 .07 .00 .40 .40
SummEval coherence
BertScore .58 .22 .00 .20 .35
BLANC .45 .29 .02 .24 .33
CIDEr .38 .36 .02 .24 .43
ROUGE-L .45 .33 .00 .22 .34
S3 .53 .24 .01 .22 .35
SummaQA .53 .19 .07 .21 .31
SUPERT .45 .25 .06 .24 .38
SummEval consistency
BertScore .49 .16 .00 .35 1.92
BLANC .44 .15 .02 .39 1.74
CIDEr .30 .30 .02 .38 2.17
ROUGE-L .35 .25 .02 .38 1.98
S3 .46 .17 .01 .37 1.90
SummaQA .55 .09 .03 .33 1.81
SUPERT .46 .13 .04 .38 1.76
SummEval fluency
BertScore .46 .14 .00 .40 1.03
BLANC .40 .16 .01 .43 .98
CIDEr .34 .21 .02 .43 1.08
ROUGE-L .41 .18 .00 .42 .99
S3 .42 .16 .01 .42 1.03
SummaQA .48 .08 .05 .39 .97
SUPERT .43 .12 .03 .42 1.06
SummEval relevance
BertScore .64 .13 .01 .22 .26
BLANC .51 .23 .02 .25 .25
CIDEr .43 .29 .03 .25 .35
ROUGE-L .52 .24 .01 .23 .25
S3 .62 .15 .01 .23 .26
SummaQA .61 .11 .07 .22 .23
SUPERT .51 .20 .05 .24 .35
ideal .75 .00 .00 .25 .02
WMT21
BleuRT .47 .02 .13 .38 .46
C-SPEC .78 .00 .07 .15 .53
COMET .40 .09 .13 .38 .65
BLEU .44 .16 .07 .33 .43
"""
"""Table 4: metrics at their word."""
PROTOCOL = """
Chatbot
Human .93 .00 .00 .07 .05 .59
DEB .93 .00 .00 .07 .06 .49
GRADE .87 .00 .00 .13 .05 .53
HOLISTIC .87 .00 .00 .13 .05 .52
MAUDE .87 .00 .00 .13 .05 .53
USL-H .87 .00 .00 .13 .05 .52
SummEval coherence
Human .97 .00 .00 .03 .04 .42
BertScore .96 .00 .00 .04 .04 .38
BLANC .96 .00 .00 .04 .03 .40
CIDEr .95 .00 .00 .05 .04 .39
ROUGE-L .96 .00 .00 .04 .03 .40
S3 .97 .00 .00 .03 .03 .41
SummaQA .94 .00 .01 .05 .04 .39
SUPERT .94 .00 .00 .06 .04 .38
SummEval consistency
Human .93 .00 .00 .07 .02 .53
BertScore .88 .00 .00 .12 .02 .45
BLANC .88 .00 .00 .12 .02 .48
CIDEr .87 .00 .01 .13 .02 .46
ROUGE-L .88 .00 .00 .12 .02 .46
S3 .88 .00 .00 .12 .02 .46
SummaQA .90 .00 .00 .10 .02 .47
SUPERT .88 .00 .00 .12 .02 .46
SummEval fluency
Human .95 .00 .00 .05 .03 .60
BertScore .91 .00 .01 .08 .04 .56
BLANC .91 .00 .01 .08 .02 .58
CIDEr .93 .00 .00 .07 .04 .55
ROUGE-L .93 .00 .00 .07 .04 .57
S3 .92 .00 .01 .08 .04 .57
SummaQA .92 .00 .01 .08 .03 .58
SUPERT .88 .00 .01 .11 .04 .54
SummEval relevance
Human .95 .00 .00 .05 .07 .43
BertScore .95 .00 .01 .04 .06 .40
BLANC .90 .00 .03 .07 .05 .42
CIDEr .94 .00 .02 .04 .06 .42
ROUGE-L .94 .00 .01 .05 .05 .41
S3 .95 .00 .01 .04 .06 .41
SummaQA .93 .00 .01 .06 .05 .41
SUPERT .93 .00 .02 .05 .06 .39
ideal .85 .00 .00 .15 .02 .38
WMT21
Human .65 .00 .00 .35 .06 .34
BleuRT .65 .00 .00 .35 .06 .34
C-SPEC .65 .00 .00 .35 .06 .33
COMET .65 .00 .00 .35 .06 .34
BLEU .65 .00 .00 .35 .05 .34
"""
"""Table 5: with the protocol."""
HUMANS, MADE_UP = "Human", "ideal"
_TABLES = {"naive": NAIVE, "protocol": PROTOCOL}


def average(table: str, column: str, domain: str | None = None, rows: str = "metrics") -> float:
    """Average a column of a table over real metrics, or over the rows of humans alone; of one domain, or of all."""
    wanted = [
        row[COLUMNS.index(column)]
        for name, listed in _read(_TABLES[table]).items()
        for metric, row in listed.items()
        if domain in (None, name) and metric != MADE_UP and (metric == HUMANS) == (rows == "humans")
    ]
    return mean(wanted)


def largest_saving(domain: str) -> float:
    """Say how many annotations of all the best metric of a domain saves, against humans alone."""
    listed = _read(PROTOCOL)
    at = COLUMNS.index("annotations")
    rows = [row for name, metrics in listed.items() if name.startswith(domain) for row in [metrics]]
    return max(row[HUMANS][at] - min(v[at] for k, v in row.items() if k not in (HUMANS, MADE_UP)) for row in rows)


def share_below_half() -> float:
    """Count the real metrics that need less than half of the annotations, as a share of all."""
    at = COLUMNS.index("annotations")
    rows = [v[at] for m in _read(PROTOCOL).values() for k, v in m.items() if k not in (HUMANS, MADE_UP)]
    return mean(value < 0.5 for value in rows)


def certainty_of_a_small_difference(n: int) -> float:
    """Return theta of algorithm 1 for n outputs of which .02 are won, .01 lost and .97 drawn."""
    return float(betaincc(0.02 * n + 1, 0.01 * n + 1, 0.5))


def _read(table: str) -> dict[str, dict[str, list[float]]]:
    read: dict[str, dict[str, list[float]]] = {}
    domain = ""
    for line in table.strip().splitlines():
        name, *numbers = line.split()
        if numbers and numbers[0][0] in ".0123456789":
            read[domain][name] = [float(number) for number in numbers]
        else:
            domain = line
            read[domain] = {}
    return read
