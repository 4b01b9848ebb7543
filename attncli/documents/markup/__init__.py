"""Documents in markup: Markdown and HTML."""
