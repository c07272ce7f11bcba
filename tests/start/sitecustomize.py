"""What every Python does first that a test starts with ``harness.process_environment``."""

import without_clouds  # noqa: F401
