"""A bag of words under attention: the decoder of RNNsearch over embeddings alone."""

from torch import Tensor, nn

from models.attention.layers import Embedding
from models.core.types import Memory, VocabularySizes
from models.networks.bag_config import BagConfig
from models.networks.family import RecurrentModel, embeddings
from models.networks.recurrent import RnnDecoder


class BagEncoder(nn.Module):
    """Embeddings as the memory; their mean as the decoder's first state."""

    def __init__(self, embedding: Embedding, size: int) -> None:
        super().__init__()
        self.embedding = embedding
        self.value_size = self.final_size = size

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S)."""
        values = self.embedding(source) * mask[..., None]  # (B, S, V)
        return Memory(values, mask, values.sum(1) / mask.sum(1, keepdim=True))


class Bag(RecurrentModel):
    """Bag of words: RNNsearch without a recurrent encoder.

    h_i = E x_i;  c_t = Attention(s_{t-1}, h);  s_0 = tanh(W mean(h))
    Source: Rush, Chopra, Weston 2015, section 3.2.
    """

    def __init__(self, config: BagConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes)
        encoder = BagEncoder(source, config.embedding)
        size = config.embedding
        decoder = RnnDecoder(target, config, value_size=size, final_size=size)
        super().__init__(config, sizes, encoder, decoder, target)
