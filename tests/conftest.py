"""Let tests in folders import what tests share, and processes that tests start hear Ctrl-C."""

import signal

# Tests run in the background ignore Ctrl-C, and what they start would inherit that; a handler is not inherited.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
