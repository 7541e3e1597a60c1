"""``python -m michelangelo.cli``."""

import sys

from michelangelo.cli.application import main

sys.exit(main())
