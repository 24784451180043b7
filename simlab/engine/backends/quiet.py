"""Keep what Dask logs and warns of from stderr: what a user should know is said in lines of our own."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

SPEAKERS = ("distributed", "tornado", "asyncio", "bokeh")


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the loggers of Dask, once it is imported, and its warnings; afterwards all is as before."""
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in SPEAKERS]
    loggers = [logging.getLogger(name) for name in dict.fromkeys((*SPEAKERS, *names))]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=rf"({'|'.join((*SPEAKERS, 'dask'))})\b")
        for logger in loggers:
            # Those that come later have these above them.
            logger.handlers, logger.propagate = [logging.NullHandler()], False
        try:
            yield
        finally:
            for logger, (handlers, propagate) in zip(loggers, before, strict=True):
                logger.handlers, logger.propagate = handlers, propagate
