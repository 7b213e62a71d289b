"""How a job is started, found and stopped, one file a launcher."""
