"""`python -m edgeret` is the command `edgeret`."""

import sys

from edgeret.cli.commands import main

sys.exit(main())
