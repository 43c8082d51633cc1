"""`python -m trimtab` is the CLI."""

from trimtab.cli import main

main()
