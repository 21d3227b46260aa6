"""`python -m edgeret` is the command `edgeret`."""

import sys

from edgeret.cli import main

sys.exit(main())
