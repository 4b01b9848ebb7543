"""Translation of documents."""
