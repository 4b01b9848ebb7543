"""Networks: encoders, decoders, the families made of them, losses, and the bundle of a model."""
