"""`python -m layoutprobe` is `layoutprobe`."""

import sys

from layoutprobe.cli import main

sys.exit(main())
