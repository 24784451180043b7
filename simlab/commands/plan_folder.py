"""Write what a plan came to into the folder of its study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlab.answers.plan import StudyPlan
    from simlab.config.studyfile import FrozenFamily
    from simlab.planning.folder import Asked


def keep(
    out: Path, answer: StudyPlan, config: Mapping[str, Any], asked: Asked, family: FrozenFamily | None = None
) -> StudyPlan:
    """Write study, plan, front and paragraph; return the plan, which names its study and what is claimed by now.

    `config` is the composed study of the advice. Raises InputError where the disk does not take them.
    """
    from simlab.answers.plan import ClaimFamily, front_rows
    from simlab.concluding.plans import FOLDER_FILE
    from simlab.drawing.figures import files
    from simlab.drawing.reports.answers.plan import report
    from simlab.drawing.reports.static import figure_of
    from simlab.drawing.text import paragraphs, plan_paragraphs, tables
    from simlab.planning import folder

    study = folder.frozen(config, family)
    claims = None if family is None else ClaimFamily(**family._asdict())
    answer = answer.model_copy(update={"study": FOLDER_FILE, "digest": study.digest, "family": claims})
    texts = {
        folder.FRONT: tables.to_csv(front_rows(answer)) + "\n",
        folder.PARAGRAPH: paragraphs.of_plan(study.config, study.digest, plan_paragraphs.foreseen(answer), family)
        + "\n",
    }
    folder.write(
        out, study, asked, answer.plain(), texts, lambda file: files.write(lambda: figure_of(report(answer)), file)
    )
    return answer
