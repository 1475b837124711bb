"""What several tests use: programs, browsers, samples."""

from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
