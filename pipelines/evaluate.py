"""``python -m pipelines.evaluate ...`` is ``liangchi evaluate ...``. Trivial on purpose: what is
run as __main__ cannot be pickled by name."""

import sys

from pipelines.command import main

if __name__ == "__main__":
    sys.argv.insert(1, "evaluate")
    sys.exit(main())
