"""`python -m mercer` is the command line.  Layer 6."""

from mercer.cli import main

if __name__ == "__main__":
    main()
