"""Draw what is concluded from a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simlab.concluding.conclusion import Conclusion

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(found: Conclusion) -> Figure:
    """Draw the order with intervals."""
    import matplotlib.pyplot as plt

    return plt.figure()
