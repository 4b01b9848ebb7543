"""Recurrent encoders of texts, and recurrent decoders: a loop of one step per target token."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from models.attention.base import PreparedMemory, check_slots
from models.attention.layers import Bridge, Embedding, Recurrence
from models.attention.multihead import attention, read_values
from models.attention.softmax import History
from models.core.config import (
    AttendingConfig,
    ReadoutConfig,
    RecurrentDecoderConfig,
    RecurrentEncoderConfig,
    TextConfig,
)
from models.core.numerics import Linear
from models.core.types import AttentionOutput, Looks, Memory, at_steps
from models.networks.decoder import NOTHING, Decoder, DecoderOutput, Wanted


class RnnEncoder(nn.Module):
    """Token ids to a memory with one slot per token, and the final states.

    h_i = [->h_i; <-h_i]                     Bahdanau, Cho and Bengio 2015, section 3.2
    """

    def __init__(self, embedding: Embedding, config: RecurrentEncoderConfig, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden  # units per direction
        self.embedding = embedding
        self.dropout = nn.Dropout(config.dropout)
        self.rnn = CELLS[config.cell](
            config.embedding,
            hidden,
            config.encoder_layers,
            batch_first=True,
            bidirectional=config.bidirectional,
            dropout=config.dropout if config.encoder_layers > 1 else 0.0,
        )
        self.value_size = hidden * (2 if config.bidirectional else 1)
        self.final_size = self.value_size * config.encoder_layers

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S).

        Its `final` (B, layers * directions * hidden) contains each direction's last state; the
        backward state of the last layer, <-h_1, comes last.
        """
        embedded = self.dropout(self.embedding(source))
        with torch.autocast(source.device.type, enabled=False):
            values, last = self.rnn(embedded.float(), mask)
        final = last.transpose(0, 1).flatten(1)
        return Memory(self.dropout(values), mask, final)


class PaddedRnn(nn.RNNBase):
    """Recurrent layers over padded sentences, in one direction or both.

    Each direction runs over the padded batch; padding follows the words, so it changes no output
    of theirs. torch's packed sequences give the same outputs, and their backward pass takes 1.7
    times (15 words) to 6 times (130 frames) as long on a processor.
    """

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return the outputs (B, S, D * H), 0 on padding, and the last states (L * D, B, H).

        x (B, S, E) with mask (B, S); D directions, L layers. The backward direction begins at the
        end of each sentence.
        """
        if x.device.type != "cpu":
            return self._packed(x, mask)
        outputs, states = x, []
        back = reversing(mask)
        for layer in range(self.num_layers):
            if layer and self.dropout:
                outputs = functional.dropout(outputs, self.dropout, self.training)
            forward, last = self._direction(layer, outputs, mask, reverse=False)
            states.append(last)
            if self.bidirectional:
                backward, last = self._direction(
                    layer, reordered(outputs, back), mask, reverse=True
                )
                states.append(last)
                forward = torch.cat([forward, reordered(backward, back)], -1)
            outputs = forward
        return outputs * mask.unsqueeze(-1), torch.stack(states)

    def _packed(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the same as torch does for packed sentences, fast on a GPU."""
        lengths = mask.sum(1).cpu()
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        outputs, last = super().forward(packed)
        values, _ = pad_packed_sequence(outputs, batch_first=True, total_length=mask.shape[1])
        return values, last[0] if isinstance(last, tuple) else last

    def _direction(
        self, layer: int, x: Tensor, mask: Tensor, reverse: bool
    ) -> tuple[Tensor, Tensor]:
        """Return one direction's outputs (B, S, H) and the state (B, H) at each sentence's end."""
        ends = "_reverse" if reverse else ""
        parts = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        weights = [getattr(self, f"{part}_l{layer}{ends}") for part in parts]
        zero = x.new_zeros(1, len(x), self.hidden_size)
        options = (True, 1, 0.0, self.training, False, True)
        if self.mode == "LSTM":
            outputs = torch.lstm(x, (zero, zero), weights, *options)[0]
        else:
            outputs = torch.gru(x, zero, weights, *options)[0]
        last = (mask.sum(1) - 1).clamp_min(0).view(-1, 1, 1).expand(-1, 1, self.hidden_size)
        return outputs, outputs.gather(1, last).squeeze(1)


class PaddedGru(PaddedRnn, nn.GRU):  # type: ignore[misc]
    """GRU over padded sentences."""


class PaddedLstm(PaddedRnn, nn.LSTM):  # type: ignore[misc]
    """LSTM over padded sentences."""


CELLS = {"gru": PaddedGru, "lstm": PaddedLstm}


def reversing(mask: Tensor) -> Tensor:
    """Return the indices (B, S) that reverse each sentence and keep its padding."""
    places = torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask, mask.sum(1, keepdim=True) - 1 - places, places)


def reordered(x: Tensor, places: Tensor) -> Tensor:
    """Return x (B, S, D) with its slots taken from places (B, S)."""
    return x.gather(1, places.unsqueeze(-1).expand_as(x))


class RecurrentMemory(NamedTuple):
    """Everything that a recurrent decoder computes once per source."""

    attention: PreparedMemory | None  # None without attention
    start: Tensor  # (B, L, N, H) first recurrent state
    context: Tensor | None = None  # (B, V) the fixed context of a decoder without attention
    looks: Looks | None = None  # see Memory

    def at(self, step: int) -> RecurrentMemory:
        """Return this memory with the looks of one step."""
        if self.looks is None or self.looks.number is None:
            return self
        found: RecurrentMemory = at_steps(self, self.looks.number[:, step : step + 1])
        return found


class RecurrentState(NamedTuple):
    """State of a recurrent decoder between two steps."""

    recurrent: Tensor  # (R, L, N, H)
    attentional: Tensor | None = None  # (R, D) last attentional vector, of LuongDecoder
    history: History | None = None  # of the attention, if a part of it needs one

    @property
    def hidden(self) -> Tensor:
        """The top layer's hidden state, (R, H)."""
        return self.recurrent[:, -1, 0]


class RecurrentStep(NamedTuple):
    """Results of one step."""

    state: RecurrentState
    hidden: Tensor  # (R, H), or (R, D) attentional vector: what `features` starts from
    context: Tensor  # (R, V)
    read: AttentionOutput | None  # in rows; None without attention
    gate: Tensor | None = None  # (R, 1) factor on the context, in families that have one


class RecurrentDecoder(Decoder[RecurrentMemory, RecurrentState]):
    """Recurrence, bridge and attention, and the loop over target tokens."""

    token_gates: Linear  # the embedded token's part of the gates

    def __init__(
        self,
        embedding: Embedding,
        config: RecurrentDecoderConfig,
        *,
        value_size: int,
        final_size: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.recurrence = Recurrence(config)
        self.bridge = Bridge(final_size, self.recurrence.state_shape)
        self.final_size = final_size
        self.attention: Any = None
        if isinstance(config, AttendingConfig):
            self.attention = self.built_attention(config, value_size)
            self.attention_shape = (1, config.attention.heads)
        self.dropout = nn.Dropout(config.dropout)

    def built_attention(self, config: AttendingConfig, value_size: int) -> Any:
        """Return the attention to values of a size, with one head or several.

        Raises ConfigurationError if the score accepts fewer slots than the model's longest source.
        """
        built = attention(config.hidden, value_size, config.attention)
        if isinstance(config, TextConfig):
            check_slots(built.max_slots, config, "attention")
        return built

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute the keys of a memory and the first state."""
        assert memory.final is not None and self.attention is not None
        final = memory.final[:, -self.final_size :]
        attention = self.attention.prepare(memory)
        return RecurrentMemory(attention, self.bridge(final), looks=memory.looks)

    def read_values(self, memory: Memory) -> Tensor:
        """Return the values of the heads, (B, H, S, V); see Decoder."""
        assert self.attention is not None
        return read_values(self.attention, memory)

    def start(self, prepared: RecurrentMemory) -> RecurrentState:
        """Return the state before the first token, one row per sentence."""
        assert self.attention is not None and prepared.attention is not None
        return RecurrentState(prepared.start, history=self.attention.begin(prepared.attention))

    def advance(
        self,
        tokens: Tensor,
        state: RecurrentState,
        prepared: RecurrentMemory,
        wanted: Wanted = NOTHING,
    ) -> DecoderOutput:
        """Read tokens (R, T) one by one; parts that need no state are computed for all at once."""
        inputs, token_part = self.read_tokens(tokens)  # (R, T, G), (R, T, O)
        steps: list[RecurrentStep] = []
        for number, gates_of_token in enumerate(inputs.unbind(1)):  # (R, G)
            steps.append(self.step(gates_of_token, state, prepared.at(number)))
            state = steps[-1].state
        reads = [step.read for step in steps if step.read is not None]
        factors = [step.gate for step in steps if step.gate is not None]
        gates = torch.cat(factors, 1) if factors and wanted.weights else None
        output = DecoderOutput(self.features(token_part, steps), state, gates=gates)
        if not reads:
            return output
        _, weights, log_prob, entropy, *_ = zip(*reads, strict=True)
        each = [r.weights.unsqueeze(1) if r.heads is None else r.heads for r in reads]  # (R, H, S)
        return output._replace(
            weights=torch.stack(weights, 1) if wanted.weights else None,
            log_prob=None if log_prob[0] is None else torch.stack(log_prob, 1),
            entropy=None if entropy[0] is None else torch.stack(entropy, 1),
            heads=torch.stack(each, 2).unsqueeze(1) if wanted.heads else None,  # (R, 1, H, T, S)
        )

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read the memory and update the state; gates (R, G) are the token's part."""
        raise NotImplementedError

    def output_part(self, embedded: Tensor) -> Tensor:
        """Return what `features` needs of embedded tokens (R, T, E)."""
        return embedded

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the output layer's input (R, T, D) from `output_part` of tokens and the steps."""
        raise NotImplementedError

    def read_tokens(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return the parts of the gates and of the output layer's input that tokens (R, T) have.

        The hypotheses of a search read few different tokens: on a processor each is mapped once.
        """
        rows = None
        searched = tokens.shape[1] == 1 and tokens.device.type == "cpu" and not self.training
        if searched and not torch.compiler.is_compiling():
            different, rows = tokens[:, 0].unique(return_inverse=True)
            tokens = different[:, None]  # (N, 1)
        embedded = self.dropout(self.embedding(tokens))
        gates, outputs = self.token_gates(embedded), self.output_part(embedded)
        if rows is None:
            return gates, outputs
        return gates.index_select(0, rows), outputs.index_select(0, rows)

    def read(
        self, query: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> AttentionOutput:
        """Read the memory with queries (R, H); the result is in rows.

        The K hypotheses of a sentence are K queries of its one memory.
        """
        assert self.attention is not None and prepared.attention is not None
        queries = query.unflatten(0, (prepared.attention.mask.shape[0], -1))  # (B, K, H)
        return self.attention(queries, prepared.attention, state.history).rows()


class RnnDecoder(RecurrentDecoder):
    """Attention before the recurrence, and a deep output."""

    def __init__(
        self,
        embedding: Embedding,
        config: ReadoutConfig,
        *,
        value_size: int,
        final_size: int,
    ) -> None:
        super().__init__(embedding, config, value_size=value_size, final_size=final_size)
        context_size = value_size if self.attends else final_size
        gates, readout = self.recurrence.gate_size, config.readout or config.embedding
        self.token_gates = Linear(config.embedding, gates)
        self.context_gates = Linear(context_size, gates, bias=False)
        self.token_out = Linear(config.embedding, 2 * readout)
        self.state_out = Linear(config.hidden, 2 * readout, bias=False)
        self.context_out = Linear(context_size, 2 * readout, bias=False)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read with s_{t-1}, then compute s_t."""
        read = self.read(state.hidden, state, prepared)
        context = read.context  # (R, V)
        return self.moved(gates + self.context_gates(context), state, context, read)

    def moved(
        self, gates: Tensor, state: RecurrentState, context: Tensor, read: AttentionOutput | None
    ) -> RecurrentStep:
        """Compute s_t from its input gates (R, G) and s_{t-1}."""
        recurrent = self.recurrence(gates, state.recurrent)
        after = RecurrentState(recurrent, history=None if read is None else read.history)
        return RecurrentStep(after, after.hidden, context, read)

    def output_part(self, embedded: Tensor) -> Tensor:
        """Return the tokens' part of the maxout's input, (R, T, 2 * readout)."""
        return self.token_out(embedded)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Compute the maxout over y, s and c: (R, T, readout)."""
        states = torch.stack([step.hidden for step in steps], 1)
        contexts = torch.stack([step.context for step in steps], 1)
        mixed = token_part + self.state_out(states) + self.context_out(contexts)
        return self.dropout(mixed.unflatten(-1, (-1, 2)).amax(-1))


class FixedContextDecoder(RnnDecoder):
    """RnnDecoder without attention: every step has the encoder's last state as context."""

    attends = False

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute the first state; store the context."""
        assert memory.final is not None
        final = memory.final[:, -self.final_size :]
        return RecurrentMemory(None, self.bridge(final), final)

    def start(self, prepared: RecurrentMemory) -> RecurrentState:
        """Return s_0 of every sentence."""
        return RecurrentState(prepared.start)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute s_t with the fixed context."""
        assert prepared.context is not None
        copies = state.recurrent.shape[0] // prepared.context.shape[0]
        context = prepared.context.repeat_interleave(copies, 0)
        return self.moved(gates + self.context_gates(context), state, context, None)


class LuongDecoder(RecurrentDecoder):
    """Attention after the recurrence, with input feeding.

    s_t = f(s_{t-1}, [y_{t-1}; a_{t-1}])     a: the attentional vector
    c_t = Attention(s_t, memory)
    a_t = tanh(W_c [c_t; s_t])               the output layer's input
    Luong, Pham and Manning 2015, eq. 5 and section 3.3
    """

    def __init__(
        self, embedding: Embedding, config: ReadoutConfig, *, value_size: int, final_size: int
    ) -> None:
        super().__init__(embedding, config, value_size=value_size, final_size=final_size)
        gates = self.recurrence.gate_size
        self.size = config.readout or config.embedding
        self.token_gates = Linear(config.embedding, gates)
        self.feed_gates = Linear(self.size, gates, bias=False)
        self.combine = Linear(value_size + config.hidden, self.size, bias=False)  # W_c

    def start(self, prepared: RecurrentMemory) -> RecurrentState:
        """Return the first state; the attentional vector starts at zero."""
        state = super().start(prepared)
        first = prepared.start.new_zeros(prepared.start.shape[0], self.size)
        return state._replace(attentional=first)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute s_t, read with it, and combine both into a_t."""
        gates = gates + self.feed_gates(state.attentional)
        moved = state._replace(recurrent=self.recurrence(gates, state.recurrent))
        hidden = moved.hidden  # (R, H)
        read = self.read(hidden, moved, prepared)
        both = torch.cat([read.context, hidden.to(read.context.dtype)], 1)
        attentional = self.dropout(self.combine(both).tanh())  # (R, D)
        after = RecurrentState(moved.recurrent, attentional, read.history)
        return RecurrentStep(after, attentional, read.context, read)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the attentional vectors (R, T, D)."""
        return torch.stack([step.hidden for step in steps], 1)
