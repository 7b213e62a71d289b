"""The console: where the job's meaning, the machine and the screen meet.

Holds the version and imports nothing: it runs before ``console.job`` does.
"""

__version__ = "0.1.0"
