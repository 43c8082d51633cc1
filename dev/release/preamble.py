"""Runs first in the kubectl plugin: says what is wrong before an import fails."""

import sys

if sys.version_info < (3, 11) or sys.version_info >= (3, 15):
    sys.exit("kubectl trimtab needs a python3 of version 3.11 to 3.14 on PATH")
