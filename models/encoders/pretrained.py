"""Encoders that contain a network trained elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from torch import nn


class PretrainedEncoder(nn.Module):
    """An encoder around a pretrained network, which is frozen unless `unfreeze` is called."""

    body: nn.Module
    frozen: bool

    def freeze(self) -> None:
        """Exclude the network from training."""
        self.frozen = True
        self.body.requires_grad_(False)

    def unfreeze(self) -> None:
        """Include the network in training."""
        self.frozen = False
        self.body.requires_grad_(True)

    def load_pretrained(self) -> None:
        """Fill the network with the weights that the configuration names."""
        raise NotImplementedError


def pretrained_encoder(model: nn.Module) -> PretrainedEncoder | None:
    """Return the model's encoder if it contains a pretrained network."""
    encoder = getattr(model, "encoder", None)
    encoder = getattr(encoder, "image", encoder)  # of several inputs
    return encoder if isinstance(encoder, PretrainedEncoder) else None


def pretrained_parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters of the model's pretrained network, if it has one."""
    if encoder := pretrained_encoder(model):
        yield from encoder.body.parameters()
