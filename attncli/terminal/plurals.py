"""Numbers of things in messages."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 image", "2,000 images"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
