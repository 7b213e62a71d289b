"""Programs that run on the host: each is one file that imports nothing of ours."""
