"""Let tests in folders import what tests share, hear Ctrl-C, and print as into a pipe, wherever they run."""

import os
import signal

# Tests run in the background ignore Ctrl-C, and what they start would inherit that; a handler is not inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Tests that are shared out have a terminal of 80 columns.
os.environ.pop("COLUMNS", None)
