"""Questions of version 3.0 of the human-evaluation datasheet (HEDS), in a few words each.

Source: Belz and Thomson 2025, the form at nlp-heds.github.io.
"""

from __future__ import annotations

from collections.abc import Mapping

QUESTIONS: Mapping[str, str] = {
    "3.1.1": "outputs evaluated per system",
    "3.1.2": "how outputs are selected",
    "3.1.3.1": "method of the power analysis",
    "3.1.3.2": "power of the sample",
    "3.1.3.3": "code of the power analysis",
    "3.2.1": "number of evaluators",
    "3.2.2.1": "whether evaluators are domain experts",
    "3.2.2.2": "whether participants are paid",
    "3.2.2.3": "whether participants were known to the authors before",
    "3.2.2.4": "whether authors are among the participants",
    "3.2.3": "how evaluators are recruited",
    "3.2.4": "training and practice",
    "3.2.5": "other characteristics of the evaluators",
    "3.3.1": "whether the design is preregistered",
    "3.3.2": "medium by which responses are collected",
    "3.3.3.1": "types of quality assurance",
    "3.3.3.2": "methods of quality assurance",
    "3.3.4.1": "where the form or interface can be seen",
    "3.3.4.2": "what evaluators are shown",
    "3.3.5": "when and how quickly evaluators work",
    "3.3.6": "whether evaluators can ask and comment",
    "3.3.7": "conditions in which evaluators work",
    "4.2.1": "objective or subjective assessment",
    "4.2.2": "absolute or relative assessment",
    "4.2.3": "intrinsic or extrinsic evaluation",
    "4.3.1.1": "name of the quality criterion for evaluators",
    "4.3.1.2": "standardised name of the criterion",
    "4.3.2": "definition of the criterion for evaluators",
    "4.3.3": "size of the scale",
    "4.3.4": "possible values of the scale",
    "4.3.5": "how the scale is presented",
    "4.3.6": "task of the evaluators where there is no scale",
    "4.3.7": "verbatim question or instruction",
    "4.3.8": "form of response elicitation",
    "4.3.9": "how responses become scores",
    "4.3.10": "methods for effect size and significance",
    "4.3.11.1": "how agreement between evaluators is measured",
    "4.3.11.2": "agreement between evaluators",
    "4.3.12.1": "how agreement of evaluators with themselves is measured",
    "4.3.12.2": "agreement of evaluators with themselves",
    "5.1": "ethical approval",
    "5.2": "personal data",
    "5.3": "special category data",
    "5.4": "impact assessments",
}
"""What the questions ask, by their numbers in HEDS 3.0: those of sections 3, 4.2, 4.3 and 5 that its form has."""
