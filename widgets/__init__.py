"""Generic widgets: numbers, text and limits in; messages out. They know no job, no host and no config."""
