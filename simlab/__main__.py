"""Run the command line as `python -m simlab`."""

from simlab.cli import main

if __name__ == "__main__":
    main()
