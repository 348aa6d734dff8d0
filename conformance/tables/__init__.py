"""Records the rows that the real server shows of objects in many states."""
