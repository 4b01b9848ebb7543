"""A pretended GPU: tensors hold data of the processor and say that they are on another device.

Importing this module changes torch for the whole process. Operations that mix devices raise an
error and are listed in MIXED, with their lines of code, as are those on float64, which mps lacks.
bf16, pinned memory, NCCL and the kernels of a GPU are not covered.
"""

# mypy: ignore-errors

from __future__ import annotations

import traceback

import safetensors.torch
import torch
import torch.amp.autocast_mode
import torch.nn.modules.rnn
import torch.utils.backend_registration
from torch import _VF, nn
from torch.utils._python_dispatch import TorchDispatchMode

NAME = "fakegpu"
torch.utils.backend_registration._setup_privateuseone_for_python_backend(NAME)
DEVICE = torch.device(NAME, 0)
MIXED: list[str] = []
aten = torch.ops.aten


class OnDevice(torch.Tensor):
    """A tensor on the pretended device."""

    @staticmethod
    def __new__(cls, elem):
        found = torch.Tensor._make_wrapper_subclass(
            cls,
            elem.size(),
            strides=elem.stride(),
            storage_offset=elem.storage_offset(),
            dtype=elem.dtype,
            layout=elem.layout,
            device=DEVICE,
            requires_grad=elem.requires_grad,
        )
        found.elem = elem
        return found

    def __repr__(self):
        return f"OnDevice({self.elem!r})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return run(func, args, kwargs or {})


ALLOWED = {  # may take tensors of the processor, too
    aten._pack_padded_sequence.default,
    aten._pad_packed_sequence.default,
    aten._pack_padded_sequence_backward.default,
    aten.copy_.default,
    aten._to_copy.default,
    aten.index.Tensor,
    aten.index_put_.default,
    aten.index_put.default,
    aten._index_put_impl_.default,
    aten.set_.source_Storage,
    aten._local_scalar_dense.default,
}
INDEXED = (aten.index_put_.default, aten._index_put_impl_.default, aten.index_put.default)


def is_pretended(device) -> bool:
    return device is not None and torch.device(device).type == NAME


def gru_cell(input_gates, hidden_gates, hx, b1=None, b2=None):
    if b1 is not None:
        input_gates, hidden_gates = input_gates + b1, hidden_gates + b2
    (ir, iz, i_n), (hr, hz, hn) = input_gates.chunk(3, 1), hidden_gates.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (i_n + r * hn).tanh()
    return (hx - n) * z + n, torch.cat([r, z, n, hx, hn], 1)


def gru_backward(grad, workspace, has_bias):
    r, z, n, hx, hn = workspace.chunk(5, 1)
    gz, gn = grad * (hx - n) * (1 - z) * z, grad * (1 - z) * (1 - n * n)
    gr = gn * hn * (1 - r) * r
    gi, gh = torch.cat([gr, gz, gn], 1), torch.cat([gr, gz, gn * r], 1)
    sums = (gi.sum(0), gh.sum(0)) if has_bias else (None, None)
    return gi, gh, grad * z, *sums


def lstm_cell(input_gates, hidden_gates, cx, b1=None, b2=None):
    gates = input_gates + hidden_gates + (0 if b1 is None else b1 + b2)
    i, f, c, o = gates.chunk(4, 1)
    i, f, c, o = i.sigmoid(), f.sigmoid(), c.tanh(), o.sigmoid()
    cy = f * cx + i * c
    return o * cy.tanh(), cy, torch.cat([i, f, c, o], 1)


def lstm_backward(gh, gc, cx, cy, workspace, has_bias):
    i, f, c, o = workspace.chunk(4, 1)
    t = cy.tanh()
    gh = torch.zeros_like(cy) if gh is None else gh
    gcy = gh * o * (1 - t * t) + (0 if gc is None else gc)
    parts = [gcy * c * i * (1 - i), gcy * cx * f * (1 - f), gcy * i * (1 - c * c)]
    gates = torch.cat([*parts, gh * t * o * (1 - o)], 1)
    return gates, gcy * f, gates.sum(0) if has_bias else None


FUSED = {
    aten._thnn_fused_gru_cell.default: gru_cell,
    aten._thnn_fused_gru_cell_backward.default: gru_backward,
    aten._thnn_fused_lstm_cell.default: lstm_cell,
    aten._thnn_fused_lstm_cell_backward_impl.default: lstm_backward,
}


def refuse(func, what: str) -> None:
    frames = [f for f in traceback.extract_stack() if "/attncli/" in f[0] or "/models/" in f[0]]
    MIXED.append(f"{func}: {what}\n" + "".join(traceback.format_list(frames[-4:])))
    raise RuntimeError(f"Expected all tensors to be on the same device: {func}: {what}")


def tensors_in(value):
    """Yield the tensors of nested lists and tuples."""
    for one in value:
        if isinstance(one, torch.Tensor):
            yield one
        elif isinstance(one, (list, tuple)):
            yield from tensors_in(one)


def changed(value, change):
    """Return a value whose tensors are changed; torch's trees take most of the time here."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, (list, tuple)):
        return type(value)(changed(one, change) for one in value)
    return value


def run(func, args, kwargs):
    flat = [*tensors_in((args, tuple(kwargs.values())))]
    ours = [x for x in flat if isinstance(x, OnDevice)]
    others = [x for x in flat if isinstance(x, torch.Tensor) and not isinstance(x, OnDevice)]
    if ours and func not in ALLOWED and any(x.dim() for x in others):
        refuse(func, f"{[tuple(x.shape) for x in others]} of the processor")
    if ours and func is aten.index.Tensor and not isinstance(args[0], OnDevice):
        refuse(func, "a tensor of the processor indexed by others")
    if func in INDEXED and isinstance(args[0], OnDevice):
        value = args[2]
        if isinstance(value, torch.Tensor) and not isinstance(value, OnDevice) and value.dim():
            refuse(func, "a value of the processor")
    given = changed(args, lambda x: x.elem if isinstance(x, OnDevice) else x)
    named = {
        name: changed(value, lambda x: x.elem if isinstance(x, OnDevice) else x)
        for name, value in kwargs.items()
    }
    is_ours = bool(ours)
    if named.get("device") is not None:
        is_ours, named = is_pretended(named["device"]), {**named, "device": torch.device("cpu")}
    elif func in (aten._to_copy.default, aten.copy_.default):
        is_ours = isinstance(args[0], OnDevice)
    if named.get("pin_memory"):
        named = {**named, "pin_memory": False}
    if named.get("generator") is not None and is_ours:
        refuse(func, "a generator of the processor")
    result = FUSED.get(func, func)(*given, **named)
    if func is aten._to_copy.default and result is given[0]:
        result = result.clone()

    def wrapped(x):
        if not isinstance(x, torch.Tensor) or not is_ours:
            return x
        if x.dtype == torch.float64:
            refuse(func, "float64 on the device")
        same = [one for one in ours if one.elem is x]  # of an operation in place
        return same[0] if same else OnDevice(x)

    if func in (aten._pack_padded_sequence.default, aten._pad_packed_sequence.default):
        return wrapped(result[0]), result[1]
    return changed(result, wrapped)


class Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):
        return False  # else torch loads its compiler, and asks it before each operation

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return run(func, args, kwargs or {})


MODE = Mode()


class NoGrad(torch.no_grad):
    def __init__(self, mode=True):
        super().__init__()


class NoAutocast:
    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


class RecurrentKernels:
    def __getattr__(self, name):
        found = getattr(_VF, name)
        return with_time_first(found) if name in ("gru", "lstm") else found


def with_time_first(kernel):
    def call(given, *args):
        *first, batch_first = args
        is_packed = isinstance(args[0], torch.Tensor) and args[0].dtype == torch.int64
        if is_packed or not batch_first or not isinstance(given, OnDevice):
            return kernel(given, *args)
        output, *rest = kernel(given.transpose(0, 1), *first, False)
        return (output.transpose(0, 1), *rest)

    return call


def moved(make):
    def call(*args, device=None, **kwargs):
        found = make(*args, **kwargs)
        return found if device is None else found.to(device)

    return call


def plain(method):
    return lambda self, *args: method(self.elem.detach() if isinstance(self, OnDevice) else self)


def refusing(method):
    def call(self, *args, **kwargs):
        if isinstance(self, OnDevice):
            raise TypeError("can't convert a tensor of the device to numpy; use Tensor.cpu() first")
        return method(self, *args, **kwargs)

    return call


def module_to(self, *args, **kwargs):
    device, dtype, *_ = torch._C._nn._parse_to(*args, **kwargs)
    known = {}

    def one(tensor, is_parameter):
        if is_pretended(device) is isinstance(tensor, OnDevice) and dtype is None:
            return tensor
        if id(tensor) not in known:
            found = tensor.detach() if device is None else tensor.detach().to(device)
            if dtype is not None and found.is_floating_point():
                found = found.to(dtype)
            if is_parameter:
                found = nn.Parameter(found, requires_grad=tensor.requires_grad)
            known[id(tensor)] = found, tensor  # which is kept, so that its id stays its own
        return known[id(tensor)][0]

    for part in self.modules():
        for table, is_parameter in ((part._parameters, True), (part._buffers, False)):
            for name, tensor in table.items():
                if tensor is not None:
                    table[name] = one(tensor, is_parameter)
        if isinstance(part, nn.RNNBase):
            part._flat_weights = [getattr(part, name) for name in part._flat_weights_names]
    return self


def saving(save):
    def call(tensors, *args, **kwargs):
        inner = {name: getattr(tensor, "elem", tensor).detach() for name, tensor in tensors.items()}
        return save(inner, *args, **kwargs)

    return call


def pretend() -> None:
    """Change torch, so that "cuda" is the pretended device."""
    torch.tensor, torch.as_tensor = moved(torch.tensor), moved(torch.as_tensor)
    torch.Tensor.tolist = plain(torch.Tensor.tolist)
    torch.Tensor.data_ptr = plain(torch.Tensor.data_ptr)
    torch.Tensor.numpy = refusing(torch.Tensor.numpy)
    torch.Tensor.__array__ = refusing(torch.Tensor.__array__)
    torch.nn.modules.rnn._VF = RecurrentKernels()
    torch.inference_mode, torch.autocast = NoGrad, NoAutocast
    nn.Module.to = module_to
    safetensors.torch.save = saving(safetensors.torch.save)
    import models.engines.trained as trained
    from models.core.numerics import WITHOUT_DOUBLE

    WITHOUT_DOUBLE.add(NAME)
    trained.usable_device = lambda name: DEVICE if str(name) != "cpu" else torch.device("cpu")
    MODE.__enter__()
