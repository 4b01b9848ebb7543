"""A model whose parameters and gradients are divided among the processes: train.shard_model.

Each of W processes stores 1/W of every parameter and of its gradient. The parameters of a unit are
gathered before the unit computes, in the forward and in the backward pass, and freed after it; its
gradients are then summed over the processes, and each receives its part. The units are the
attention and feed-forward blocks of a Transformer. All other parameters, such as embeddings, which
may be shared with the output layer, and recurrent cells, are one more unit. It is gathered for both
passes as a whole.
Source: Rajbhandari et al. 2020 (ZeRO), stage 3; FSDP2 of torch.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from itertools import chain

import torch
from torch import Tensor, nn

from models.attention.multihead import CrossAttention, SelfAttention
from models.families.encoder_decoder import EncoderDecoder
from models.layers.blocks import FeedForward

UNITS: dict[type[nn.Module], tuple[str, ...]] = {  # and methods that compute, besides `forward`
    SelfAttention: (),
    CrossAttention: ("prepare", "weights_of"),
    FeedForward: (),
}


def divide(model: EncoderDecoder, device: torch.device, dtype: torch.dtype, processes: int) -> None:
    """Divide a model among the processes of the group, and move it to the device of this process.

    dtype: of matrix products. The parameters of blocks are gathered in it, which are those that
    autocast would convert to it. Frozen parameters are not divided.
    """
    from torch.distributed import fsdp
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(device.type, (processes,))
    frozen = {parameter for parameter in model.parameters() if not parameter.requires_grad}
    for parameter in frozen:
        parameter.data = parameter.data.to(device)
    gathered = None if dtype == torch.float32 else dtype
    policy = fsdp.MixedPrecisionPolicy(gathered, torch.float32, cast_forward_inputs=False)
    # the warning is about changes of outputs in place, which the callers of the units do not make
    warnings.filterwarnings("ignore", "FSDP2-wrapped module")
    for unit in list(units(model)):
        methods = UNITS[type(unit)]
        fsdp.fully_shard(unit, mesh=mesh, mp_policy=policy, ignored_params=frozen)
        for method in methods:
            fsdp.register_fsdp_forward_method(unit, method)
    fsdp.fully_shard(model, mesh=mesh, ignored_params=frozen)
    fsdp.register_fsdp_forward_method(model, "teacher_force")
    for part in model.modules():
        if isinstance(part, fsdp.FSDPModule):  # gradients are summed, also those that are zero
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)
            part.set_reduce_scatter_unused_params(True)


def units(model: nn.Module) -> Iterator[nn.Module]:
    """Yield the blocks of a model whose parameters are gathered only while they compute."""
    return (part for part in model.modules() if type(part) in UNITS)


def undivided_copy(model: EncoderDecoder) -> EncoderDecoder:
    """Return a model that shares all tensors with another one, which will be divided."""
    shared = {id(tensor): tensor for tensor in chain(model.parameters(), model.buffers())}
    return copy.deepcopy(model, shared)


def parameter_bytes(part: nn.Module) -> int:
    """Return the bytes of the parameters of a module."""
    return sum(parameter.numel() * parameter.element_size() for parameter in part.parameters())


def gathered_bytes(model: nn.Module) -> int:
    """Return the bytes of parameters and gradients that are gathered at a time, at most.

    They are those outside of the units, and of two units, because the next one is gathered early.
    """
    each = [parameter_bytes(unit) for unit in units(model)]
    return 2 * (parameter_bytes(model) - sum(each) + 2 * max(each, default=0))


def whole(tensor: Tensor) -> Tensor:
    """Return a tensor that may be divided among the processes as a whole; all call it together."""
    from torch.distributed.tensor import DTensor

    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def own_part(values: Tensor, like: Tensor) -> Tensor:
    """Return this process's part of values, divided as another tensor is."""
    from torch.distributed.tensor import DTensor, distribute_tensor

    assert isinstance(like, DTensor)
    values = values.to(like.device)
    return distribute_tensor(values, like.device_mesh, like.placements, src_data_rank=None)
