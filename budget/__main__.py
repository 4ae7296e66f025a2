"""``python -m budget`` is the command line."""

from budget.cli import main

if __name__ == "__main__":
    main(prog_name="compute-budget")
