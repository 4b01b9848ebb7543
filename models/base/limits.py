"""Ceilings: how much one input may make the program read, allocate or compute.

docs/limits.md says what each limits and what happens beyond it; a test compares the numbers. Ranges
of settings are in `models.config`.
"""

MIB, GIB = 1 << 20, 1 << 30

LINE_BYTES = 16 * MIB
LINE_TAGS = 10_000
SPLIT_MARKS = 64
FILE_BYTES = 1 * GIB
WINDOW_BYTES = 128 * MIB
SENTENCES = 10_000_000
OUTPUT_TOKENS = 4096
DIGITS = 9
IMAGE_PIXELS = 100_000_000
IMAGE_BYTES = 512 * MIB
ARCHIVE_MEMBERS = 10_000_000
HTML_UNENDED = 1000
UNPACKED_BYTES = 256 * MIB
AUDIO_SECONDS = 24 * 3600
AUDIO_STREAM_BYTES = 4 * GIB
