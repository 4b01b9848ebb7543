"""Numbers of things, and times, in messages."""


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 image", "2,000 images"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
