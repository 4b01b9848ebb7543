"""Published weights by name: safetensors, PyTorch without unpickling code, NumPy, CTranslate2.

Files are mapped into memory, so that a tensor is read when it is asked for.
"""

from __future__ import annotations

import json
import math
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from models.core.errors import DamagedError, NotFoundError, intact, is_exhausted
from models.importers._schema import Rule, read_json
from models.storage.archive import members_of, opened

SAFE, SAFE_INDEX, PICKLED = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
)
DTYPES = {torch.float32: "F32", torch.float16: "F16"}  # names in safetensors
TYPES = ("float32", "int8", "int16", "int32", "float16")  # of CTranslate2; a type is its index
OLD_TYPES = {4: "float32", 1: "int8", 2: "int16"}  # by size, before version 4


class PublishedWeights(Protocol):
    """Tensors by name."""

    names: list[str]

    def tensor(self, name: str) -> Tensor:
        """Return a tensor; raise KeyError if there is none."""


class FileWeights:
    """Weights of a folder of the Hugging Face hub: `model.safetensors`, else PyTorch's file."""

    def __init__(self, folder: Path) -> None:
        self._readers: dict[str, Callable[[str], Tensor]] = {}
        if (folder / SAFE).exists():
            self._add_safe(folder / SAFE)
        elif (folder / SAFE_INDEX).exists():
            index = read_json(folder / SAFE_INDEX, {"weight_map": Rule(dict[str, str])})
            for name in sorted({*index["weight_map"].values()}):
                # the name alone, because an index can name files outside of the folder
                self._add_safe(folder / Path(name).name)
        elif (folder / PICKLED).exists():
            stored = whole_tensors(load_pickled(folder / PICKLED), folder / PICKLED)
            self._readers = dict.fromkeys(stored, stored.__getitem__)
        else:
            raise NotFoundError(f"no weights in {folder}", f"{SAFE} or {PICKLED}")
        self.names = list(self._readers)
        if not self.names:
            raise DamagedError(f"{folder} has files of weights without weights", "some")

    def _add_safe(self, path: Path) -> None:
        with (
            intact(path, "whole weights in safetensors", "get it again", SafetensorError),
            safe_open(path, framework="pt") as file,
        ):
            # opened again for each tensor, so that the file is not held in memory
            self._readers |= dict.fromkeys(file.keys(), partial(mapped, path))

    def tensor(self, name: str) -> Tensor:
        """Return a tensor; raise KeyError if there is none."""
        return self._readers[name](name)


def mapped(path: Path, name: str) -> Tensor:
    """Return a tensor of a safetensors file, which stays mapped for as long as the tensor."""
    with safe_open(path, framework="pt") as file:
        found: Tensor = file.get_tensor(name)
        return found


def load_pickled(path: Path) -> Any:
    """Return the content of a file of PyTorch; code in it is refused, not run."""
    if zipfile.is_zipfile(path):
        with opened(path) as archive:
            members_of(archive)
    try:
        try:
            # mapped, so that a file larger than the memory can be converted tensor by tensor
            return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError:  # a file from before version 1.6 cannot be mapped
            return torch.load(path, map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError, OSError, ValueError) as error:
        if is_exhausted(error):
            raise
        reason = " ".join(str(error).split())[:80]
        raise DamagedError(
            f"{path} is damaged, or has code in it, which was not run ({reason} ..)",
            "tensors alone",
        ) from None


def whole_tensors(stored: object, path: Path) -> dict[str, Tensor]:
    """Return tensors by name from a file of PyTorch; a DamagedError if there is anything else."""
    if not isinstance(stored, dict) or not all(map(_is_whole, stored.values())):
        raise DamagedError(f"{path} has other things than whole tensors", "tensors alone")
    return {str(name): tensor for name, tensor in stored.items()}


def _is_whole(tensor: object) -> bool:
    """Return True for a dense tensor; False for one that has more numbers than are stored."""
    if not torch.is_tensor(tensor) or tensor.layout != torch.strided or tensor.is_quantized:
        return False
    # strides of 0 make a tensor of gigabytes out of one number
    return tensor.is_cpu and tensor.nbytes <= tensor.untyped_storage().nbytes()


class NumpyWeights:
    """Arrays of an .npz file; one is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        with opened(path, "a whole .npz file") as archive:
            members_of(archive)
            # a pickle in an archive would run code
            self._file = numpy.load(path, allow_pickle=False)
            self.names = list(self._file.files)
        self.path = path

    def tensor(self, name: str) -> Tensor:
        """Return a tensor; raise KeyError if there is none."""
        if name not in self.names:
            raise KeyError(name)
        with opened(self.path, "a whole .npz file"):
            return torch.from_numpy(numpy.ascontiguousarray(self._file[name]))


class CTranslate2Weights:
    """Variables of the model.bin of CTranslate2, of any version of its format.

    Version 6 is described in models/engines/ctranslate2_convert.py. Before version 4 a variable
    has the size of a number in place of its type; before version 3 there are no aliases.
    """

    def __init__(self, path: Path) -> None:
        with intact(path, "a model of CTranslate2", "get it again", struct.error, IndexError):
            self._data = numpy.memmap(path, mode="r")
            with path.open("rb") as file:
                self._read_table(file)
        self.path, self.names = path, list(self._places)

    def _read_table(self, file: BinaryIO) -> None:
        version = _number(file, "I")
        self.spec = _text(file) if version >= 2 else ""
        self.revision = _number(file, "I") if version >= 2 else 1
        self._places: dict[str, tuple[str, tuple[int, ...], int, int]] = {}
        for _ in range(_number(file, "I")):
            name = _text(file)
            shape = tuple(_number(file, "I") for _ in range(_number(file, "B")))
            code, count = _number(file, "B"), _number(file, "I")
            kind = TYPES[code] if version >= 4 else OLD_TYPES[code]
            size = count if version >= 4 else count * code
            # a size from a damaged table would read beyond the end of the map
            if file.tell() + size > len(self._data):
                raise ValueError(f"it ends within {name}")
            if size != math.prod(shape) * numpy.dtype(kind).itemsize or not size:
                raise ValueError(f"{size} bytes for {name} of shape {shape}")
            self._places[name] = (kind, shape, file.tell(), size)
            file.seek(size, 1)
        for _ in range(_number(file, "I") if version >= 3 else 0):
            alias, name = _text(file), _text(file)
            self._places[alias] = self._places[name]

    def place(self, name: str) -> int:
        """Return where a variable is stored; the same for two names of one variable."""
        return self._place(name)[2]

    def _place(self, name: str) -> tuple[str, tuple[int, ...], int, int]:
        if name not in self._places:
            raise DamagedError(f"{self.path} has no {name}", "all variables of a Transformer")
        return self._places[name]

    def aliases(self, name: str) -> set[str]:
        """Return all names of a variable."""
        return {other for other, place in self._places.items() if place == self._place(name)}

    def array(self, name: str) -> Any:
        """Return a variable as it is stored; raise DamagedError if there is none."""
        kind, shape, place, size = self._place(name)
        return self._data[place : place + size].view(kind).reshape(shape)

    def tensor(self, name: str) -> Tensor:
        """Return a variable as floating-point numbers; int8 and int16 are divided by their scale.

        A scale is one number, or one per row.
        """
        array = self.array(name)
        if array.dtype.kind == "f":
            return torch.from_numpy(numpy.array(array))
        scale = torch.from_numpy(numpy.array(self.array(f"{name}_scale")))
        numbers = torch.from_numpy(array.astype("float32"))
        return numbers / scale.view(-1, *[1] * (numbers.dim() - 1))


def _number(file: BinaryIO, kind: str) -> int:
    (found,) = struct.unpack("<" + kind, file.read(struct.calcsize("<" + kind)))
    return int(found)


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "H"))[:-1].decode()


def write_tensors(
    path: Path,
    shapes: dict[str, tuple[int, ...]],
    dtype: torch.dtype,
    tensors: Iterable[tuple[str, Tensor]],
    advance: Callable[[float], None] = lambda share: None,
) -> None:
    """Write weights in safetensors one after another, so that one at a time is in memory.

    tensors: in the order of `shapes`. advance: called with the share of bytes written so far.
    Raises DamagedError if a tensor has another shape, or is not finite.
    """
    header, place = dict[str, Any](), 0
    for name, shape in shapes.items():
        end = place + torch.Size(shape).numel() * dtype.itemsize
        header[name] = {"dtype": DTYPES[dtype], "shape": shape, "data_offsets": [place, end]}
        place = end
    text = json.dumps(header).encode()
    # the weights begin at a multiple of 8 bytes, as in files that the library writes
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in tensors:
            if tuple(tensor.shape) != shapes[name]:
                raise DamagedError(
                    f"weights of shape {tuple(tensor.shape)} for {name}",
                    f"{shapes[name]}, as its configuration says",
                    "get the model again",
                )
            if not all(end.isfinite() for end in tensor.aminmax()):  # a NaN is both
                raise DamagedError(
                    f"weights that are infinite or not numbers for {name}", "finite weights"
                )
            file.write(tensor.to(dtype).contiguous().numpy().data)
            advance(header[name]["data_offsets"][1] / place)
