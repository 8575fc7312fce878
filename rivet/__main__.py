"""Lets `python -m rivet` do what the command `rivet` does."""

from rivet.cli.main import main

raise SystemExit(main())
