"""Published models are the models that their publishers run."""
