"""`attn serve`: the models as a web page and as a service with LibreTranslate's protocol."""
