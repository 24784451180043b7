"""Ask a decision rule of a campaign that is under way, where what was said may not be what was to be expected."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simlab.design.following import Places, until
from simlab.design.protocol import gather
from simlab.studies.preferences.evidence import Said, decided
from simlab.studies.preferences.preparing import Prepared
from simlab.types import Array, Bools, Evidence, Ints, TestSet, Verdicts


@dataclass(frozen=True, slots=True)
class Rule:
    """Hold what a rule says of a campaign in which everybody looks, `verdicts` of its `evidence`; rows are pairs.

    What it says of a pair whose answers were all as expected need not be asked again, unless pairs are judged together
    and have got differently far (`in_step` says that they have not).
    """

    prepared: Prepared
    evidence: Evidence
    verdicts: Verdicts
    test_set: TestSet
    order: Ints
    places: Places
    in_step: bool

    def of(self, k: int, n: int, test_set: TestSet, order: Ints, places: Places) -> Rule:
        """Take the k-th of n campaigns."""
        size = len(self.verdicts.stop) // n
        rows = slice(k * size, (k + 1) * size)
        held = {name: getattr(self.verdicts, name)[rows] for name in ("verdict", "stop", "theta")}
        return replace(self, verdicts=replace(self.verdicts, **held), test_set=test_set, order=order, places=places)

    def stops(self, said: Array, end: Ints) -> Bools:
        """Say which pairs the rule ends at their looks, given what was said of each, `[pair, k]`."""
        changed = self._changed(said, end)
        if self.verdicts.joint and (changed.any() or not self.in_step):
            return decided(self.prepared, until(self.given(said), end)).stop[:, -1]
        return self._row_by_row(said, end, changed).stop

    def in_the_end(self, said: Array, end: Ints) -> Said:
        """Say what the rule says where collecting ended."""
        if self.verdicts.joint:
            return Said.at(decided(self.prepared, until(self.given(said), end)), end)
        return self._row_by_row(said, end, self._changed(said, end))

    def given(self, said: Array, rows: Ints | None = None) -> Evidence:
        """Count what was said of some pairs (None: of all), as far as it has come; the rest is as expected."""
        test_set = heard(self.test_set, self.order, said)
        every = np.arange(len(said)) if rows is None else rows
        metric, can = test_set.metric, self.places.can_be_rated
        part = TestSet(test_set.human[every], None if metric is None else metric[every])
        places = self.places._replace(can_be_rated=None if can is None else can[every])
        return gather(part, self.order[every], self.evidence.annotations, places)

    def _changed(self, said: Array, end: Ints) -> Bools:
        n = said.shape[1]
        would = np.take_along_axis(self.test_set.human, self.order[:, :n], axis=1)
        read = np.arange(n) < self.evidence.annotations[end][:, None]
        return np.asarray(((said != would) & read).any(1))

    def _row_by_row(self, said: Array, end: Ints, changed: Bools) -> Said:
        rows = np.arange(len(end))
        verdict, stop, theta = (getattr(self.verdicts, name)[rows, end] for name in ("verdict", "stop", "theta"))
        which = np.flatnonzero(changed)
        if len(which):
            anew = Said.at(decided(self.prepared, self.given(said, which)), end[which])
            verdict[which], stop[which], theta[which] = anew.verdict, anew.stop, anew.theta
        return Said(verdict, stop, theta, self.verdicts.summarise)


def heard(test_set: TestSet, order: Ints, said: Array) -> TestSet:
    """Return a test set as it was answered: `said[pair, k]` of the k-th output that a pair was asked about."""
    human = test_set.human.copy()
    np.put_along_axis(human, order[:, : said.shape[1]], said.astype(human.dtype), axis=1)
    return replace(test_set, human=human)
