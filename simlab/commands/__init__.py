"""Commands of simlab, a module each: from the words of the command line to an answer and an exit code."""
