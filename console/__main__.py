"""Runs the commands: ``longwait`` and ``python -m console``."""

from __future__ import annotations


def main() -> None:
    """Run the command line; the import stands here so that it is timed with the command."""
    from console import collector  # noqa: PLC0415

    collector.begin()
    from console.cli import cli  # noqa: PLC0415

    cli()


if __name__ == "__main__":
    main()
