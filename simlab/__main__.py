"""Run the command line as `python -m simlab`."""

from simlab.start import main

if __name__ == "__main__":
    main()
