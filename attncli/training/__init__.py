"""What a kind of input states for training: settings, preparation, examples, dev sets."""
