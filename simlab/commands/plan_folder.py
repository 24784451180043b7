"""Write what a plan came to into the folder of its study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlab.planning.answered import Answer
    from simlab.planning.folder import Asked


def keep(out: Path, answer: Answer, asked: Asked) -> tuple[list[Path], str]:
    """Write study, plan, front and paragraph; return the files and the digest of the study.

    `answer.config` is the composed study of the advice. Raises InputError where the disk does not take them.
    """
    from simlab.concluding.plans import FOLDER_FILE
    from simlab.drawing.figures import files
    from simlab.drawing.figures import plan as figure
    from simlab.drawing.text import paragraphs, plan_paragraphs, plan_records
    from simlab.planning import folder

    study = folder.frozen(answer.config, answer.family)
    record: dict[str, Any] = plan_records.record(answer, FOLDER_FILE, study.digest)
    texts = {
        folder.FRONT: plan_records.to_csv(answer) + "\n",
        folder.PARAGRAPH: paragraphs.of_plan(
            study.config, study.digest, plan_paragraphs.foreseen(answer), answer.family
        )
        + "\n",
    }
    written = folder.write(
        out, study, asked, record, texts, lambda file: files.write(lambda: figure.draw(answer), file)
    )
    return written, study.digest
