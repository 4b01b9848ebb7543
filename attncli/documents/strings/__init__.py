"""Files of messages by keys, as programs read them: a value is written as its file quotes it."""
