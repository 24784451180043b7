"""Compute simulation studies of text-generation evaluations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlab.store.opening import open_results

__all__ = ["__version__", "open_results"]


def __getattr__(name: str) -> Any:
    """Import what is asked for only then, so that `import simlab` stays light."""
    if name == "open_results":
        from simlab.store.opening import open_results

        return open_results
    if name == "__version__":
        from importlib.metadata import version

        return version("simlab")
    raise AttributeError(f"module 'simlab' has no attribute {name!r}")
