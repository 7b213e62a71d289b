"""Panels: the only code that knows both the job and a widget; one panel, one part of the snapshot."""
