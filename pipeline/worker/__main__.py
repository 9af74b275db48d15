"""``python -m pipeline.worker``: the worker's process, whatever of its compiled files broke."""

import sys

from pipeline.worker import compiled

if __name__ == "__main__":
    compiled.survive()
    from pipeline.worker.process import main

    sys.exit(main())
