"""Reports of saved answers: one module a command, each with a function `report(answer, command) -> Report`."""
