"""`python -m stockpot`: where the console script is not installed, such as in a submitted job."""

from stockpot.cli import main

main()
