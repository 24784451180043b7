"""Small tables, and what people do between two commands: fill sheets in, damage a store."""

from __future__ import annotations

import csv
import random
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def prepare(name: str, folder: Path) -> None:
    """Put an example of this name into a folder, or do there what is called so."""
    if name in PREPARED:
        PREPARED[name](folder)
    else:
        shutil.copy(EXAMPLES / name, folder)


def read(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def write(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as text:
        writer = csv.DictWriter(text, rows[0].keys(), delimiter="\t" if file.suffix == ".tsv" else ",")
        writer.writeheader()
        writer.writerows(rows)


def few_ratings(folder: Path) -> None:
    """Write ratings of 4 systems and 16 documents, 0 to 100."""
    rows = [row for row in read(EXAMPLES / "ratings.csv") if row["system"] in {"S1", "S3", "S4", "S5"}]
    kept = sorted({row["document"] for row in rows}, key=lambda name: int(name[1:]))[:16]
    write(folder / "few.csv", [row for row in rows if row["document"] in kept])


def categories(folder: Path) -> None:
    """Write the same ratings in five categories, under columns of other names, the lower the better."""
    few_ratings(folder)
    rows = read(folder / "few.csv")
    named = [
        {"engine": row["system"], "text": row["document"], "login": row["rater"], "grade": 5 - int(row["score"]) // 20}
        for row in rows
    ]
    write(folder / "grades.csv", named)


def yes_or_no(folder: Path) -> None:
    """Write whether the same ratings are above 66."""
    few_ratings(folder)
    rows = read(folder / "few.csv")
    write(folder / "yes.csv", [row | {"score": int(int(row["score"]) > 66)} for row in rows])


def more_votes(folder: Path) -> None:
    """Write comparisons of three systems, and who is one person with whom."""
    names = {"system1", "system4", "system6"}
    rows = [row for row in read(EXAMPLES / "preferences.csv") if {row["system_a"], row["system_b"]} <= names]
    write(folder / "votes.csv", rows)


def judges(folder: Path) -> None:
    """Write human labels beside two judges, of 24 documents of three systems."""
    rows = [row for row in read(EXAMPLES / "judged.csv") if row["system"] in {"system1", "system3", "system5"}]
    draw = random.Random(5)
    held = [row | {"length": str(draw.randint(20, 90))} for row in rows if int(row["document"][8:]) <= 24]
    write(folder / "judges.csv", [row | {"human": row["human"] if draw.random() < 0.6 else ""} for row in held])


def spans(folder: Path) -> None:
    """Write error spans (MQM) of 4 systems, 10 documents of 2 segments and 3 raters, two of whom rate each document."""
    draw, rows = random.Random(7), []
    for document in range(10):
        for segment in (1, 2):
            for k, system in enumerate(("A", "B", "C", "D")):
                for rater in sorted({document % 3, (document + 1 + document // 5) % 3}):
                    n = sum(draw.random() < 0.22 + 0.12 * k for _ in range(4))
                    marks = [("Accuracy/Omission", "Major" if draw.random() < 0.3 else "Minor") for _ in range(n)]
                    for category, severity in marks or [("No-error", "No-error")]:
                        rows.append(
                            {
                                "system": system,
                                "doc": f"d{document}",
                                "docSegId": segment,
                                "globalSegId": 2 * document + segment,
                                "rater": f"r{rater + 1}",
                                "source": "source",
                                "target": "target",
                                "category": category,
                                "severity": severity,
                            }
                        )
    write(folder / "spans.tsv", rows)


def metric_scores(folder: Path) -> None:
    """Write ratings of segments as mt-metrics-eval has them, and scores of a metric in a second file."""
    draw = random.Random(2)
    human, metric = [], []
    for k, system in enumerate("ABCD"):
        for place in range(40):
            score = round(draw.gauss(70 - 4 * k, 8), 2)
            human.append(f"{system}\t{score if place % 5 else 'None'}")
            metric.append(f"{system}\t{round(0.01 * score + draw.gauss(0, 0.06), 4)}")
    (folder / "xx-yy.docs").write_text("".join(f"news\td{k // 2}\n" for k in range(40)), encoding="utf-8")
    (folder / "xx-yy.human.seg.score").write_text("\n".join(human) + "\n", encoding="utf-8")
    (folder / "xx-yy.bleu.seg.score").write_text("\n".join(metric) + "\n", encoding="utf-8")


def items(folder: Path) -> None:
    """Write outputs of three systems for 600 documents of one segment each."""
    rows = [
        {"document": f"d{document}", "segment": 1, "source": "a source", "system": system, "output": f"by {system}"}
        for document in range(600)
        for system in "ABC"
    ]
    write(folder / "items.csv", rows)


def fill(folder: Path, share: float = 1.0, name: str = "filled.csv", sheets: str = "my") -> None:
    """Fill the sheets of a plan in: systems differ by a few points, ratings by more."""
    draw, key = random.Random(1), {row["slot"]: row["system"] for row in read(folder / sheets / "key.csv")}
    rows = read(folder / sheets / "assignment.csv")
    for row in rows:
        mean = 60 + 8 * sorted(set(key.values())).index(key[row["slot"]])
        row["rating"] = str(min(100, max(0, round(draw.gauss(mean, 12)))))
    for row in rows[int(share * len(rows)) :]:
        row["rating"] = ""
    write(folder / name, rows)


def damage(folder: Path) -> None:
    """Change one byte of what a store keeps of a block."""
    with closing(sqlite3.connect(folder / "store" / "ledger.sqlite")) as database, database:
        row, payload = database.execute("SELECT rowid, payload FROM blocks ORDER BY rowid LIMIT 1").fetchone()
        torn = bytes([*payload[:-1], payload[-1] ^ 1])
        database.execute("UPDATE blocks SET payload = ? WHERE rowid = ?", (torn, row))


def candidates(folder: Path) -> None:
    write(
        folder / "candidates.csv",
        [{"design.documents": n, "design.ratings_per_item": each} for n in (10, 20) for each in (1, 2)],
    )


PREPARED: Mapping[str, Callable[[Path], None]] = {
    "few ratings": few_ratings,
    "categories": categories,
    "yes or no": yes_or_no,
    "votes": more_votes,
    "judges": judges,
    "spans": spans,
    "metric scores": metric_scores,
    "items": items,
    "filled": fill,
    "half filled": lambda folder: fill(folder, 0.5, "half.csv"),
    "second filled": lambda folder: fill(folder, 1.0, "second.csv", "my/second"),
    "damaged": damage,
    "candidates": candidates,
}
