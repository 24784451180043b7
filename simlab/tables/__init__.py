"""Read a stranger's table: nothing else in the project opens one."""
