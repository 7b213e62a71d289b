"""All meaning, no I/O: text in, frozen data out; time is always an argument."""
