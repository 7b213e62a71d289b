"""Screens: layout, workers and actions."""
