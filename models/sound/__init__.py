"""Sound: reading of recordings, features, division at silences."""
