"""A decoder-only transformer with a full or a compressed key-value cache, in plain PyTorch.

The compressed cache drops keys as H2O does (Zhang et al. 2023, "H2O: Heavy-Hitter Oracle for
Efficient Generative Inference of Large Language Models").

Shapes: B sequences, H heads, T new tokens, S keys visible, D values per head, V vocabulary.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

QUERY_CHUNK = 256  # queries whose attention is held at one time
RECENT_SHARE = 0.5  # of the kept keys; the other half are the heavy hitters, as in H2O


@dataclass(frozen=True)
class Config:
    """Sizes of the decoder."""

    layers: int = 12
    width: int = 512
    heads: int = 8
    vocabulary: int = 8192


class FullLayer:
    """The keys and values of one layer, all kept."""

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.held = 0
        self.keys = self.values = None

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Store keys and values (B, H, T, D); return the attention's output (B, H, T, D)."""
        if self.keys is None:
            shape = (*keys.shape[:2], self.capacity, keys.shape[3])
            self.keys, self.values = keys.new_empty(shape), keys.new_empty(shape)
        first, self.held = self.held, self.held + keys.shape[2]
        self.keys[:, :, first : self.held] = keys
        self.values[:, :, first : self.held] = values
        return attend(queries, self.keys[:, :, : self.held], self.values[:, :, : self.held])


class CompressedLayer:
    """The keys and values of one layer, at most `capacity` per head.

    The keys with the lowest accumulated attention are evicted and a recent window always stays:
    the heavy-hitter eviction of H2O, Zhang et al. 2023. A new key takes the evicted key's slot.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity
        self.recent = int(capacity * RECENT_SHARE)
        self.held = self.seen = 0
        self.keys = self.values = self.mass = self.positions = None

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Prefill with (B, H, T, D), then decode with T = 1; return the output (B, H, T, D)."""
        if self.keys is None:
            return self._prefill(queries, keys, values)
        slot = self._free_slot()  # (B, H, 1)
        wide = slot.unsqueeze(-1).expand_as(keys)
        self.keys.scatter_(2, wide, keys)
        self.values.scatter_(2, wide, values)
        self.mass.scatter_(2, slot, 0.0)
        self.positions.scatter_(2, slot, self.seen)
        self.seen += 1
        held = slice(0, self.held)
        return attend(
            queries, self.keys[:, :, held], self.values[:, :, held], self.mass[:, :, held]
        )

    def _prefill(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attend to the whole prompt once, then keep what fits."""
        self.seen = keys.shape[2]
        self.held = min(self.seen, self.capacity)
        mass = keys.new_zeros(keys.shape[:3])
        output = attend(queries, keys, values, mass)
        worth = mass.clone()
        worth[:, :, self.seen - min(self.recent, self.seen) :] = torch.inf
        kept = worth.topk(self.held).indices.sort().values  # (B, H, held)
        wide = kept.unsqueeze(-1).expand(*kept.shape, keys.shape[3])
        room = (0, self.capacity - self.held)
        self.keys = functional.pad(keys.gather(2, wide), (0, 0, *room))
        self.values = functional.pad(values.gather(2, wide), (0, 0, *room))
        self.mass = functional.pad(mass.gather(2, kept), room)
        self.positions = functional.pad(kept, room)
        return output

    def _free_slot(self) -> Tensor:
        """The slot (B, H, 1) for the next key: an unused one, else the least attended key's."""
        if self.held < self.capacity:
            self.held += 1
            return torch.full_like(self.positions[:, :, :1], self.held - 1)
        protected = self.positions > self.seen - self.recent
        return self.mass.masked_fill(protected, torch.inf).argmin(-1, keepdim=True)


def attend(queries: Tensor, keys: Tensor, values: Tensor, mass: Tensor | None = None) -> Tensor:
    """Causal attention (B, H, T, D) of the T newest positions to S keys and values (B, H, S, D).

    Where `mass` (B, H, S) is given, the attention each key received is added to it.
    """
    new, seen = queries.shape[2], keys.shape[2]
    output = torch.empty_like(queries)
    for first in range(0, new, QUERY_CHUNK):
        last = min(first + QUERY_CHUNK, new)
        visible = seen - new + last
        scores = queries[:, :, first:last] @ keys[:, :, :visible].transpose(2, 3)
        scores *= queries.shape[3] ** -0.5
        future = torch.ones(scores.shape[2:], dtype=torch.bool, device=scores.device)
        scores.masked_fill_(future.triu(visible - (last - first) + 1), -torch.inf)
        weights = scores.softmax(-1)
        output[:, :, first:last] = weights @ values[:, :, :visible]
        if mass is not None:
            mass[:, :, :visible] += weights.sum(2)
    return output


def rotate(states: Tensor, first: int) -> Tensor:
    """Rotary position embedding of states (B, H, T, D) at positions first, first + 1, …"""
    half = states.shape[3] // 2
    rates = 10000.0 ** (-torch.arange(half, device=states.device) / half)
    angles = torch.arange(first, first + states.shape[2], device=states.device).outer(rates)
    left, right = states.split(half, dim=3)
    turned = left * angles.cos() - right * angles.sin(), left * angles.sin() + right * angles.cos()
    return torch.cat(turned, dim=3)


class Layer(nn.Module):
    """Attention and a feed-forward part, each behind a norm and added to its input."""

    def __init__(self, config: Config):
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.RMSNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.output = nn.Linear(config.width, config.width, bias=False)
        self.feed_norm = nn.RMSNorm(config.width)
        self.up = nn.Linear(config.width, 4 * config.width, bias=False)
        self.down = nn.Linear(4 * config.width, config.width, bias=False)

    def forward(self, states: Tensor, first: int, cache: FullLayer | CompressedLayer) -> Tensor:
        """States (B, T, width) at positions first, first + 1, … to states of the same shape."""
        batch, new, width = states.shape
        mixed = self.query_key_value(self.attention_norm(states))
        split = mixed.view(batch, new, 3, self.heads, width // self.heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # each (B, H, T, D)
        attended = cache.attend(rotate(queries, first), rotate(keys, first), values)
        states = states + self.output(attended.transpose(1, 2).reshape(batch, new, width))
        return states + self.down(functional.gelu(self.up(self.feed_norm(states))))


class Decoder(nn.Module):
    """A decoder-only transformer with random weights."""

    def __init__(self, config: Config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.layers))
        self.norm = nn.RMSNorm(config.width)
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)

    def forward(self, tokens: Tensor, first: int, cache: list) -> Tensor:
        """Tokens (B, T) at positions first, first + 1, … to the last one's logits (B, V)."""
        states = self.embedding(tokens)
        for layer, layer_cache in zip(self.layers, cache, strict=True):
            states = layer(states, first, layer_cache)
        return self.head(self.norm(states[:, -1]))


def make_weights(path: Path, config: Config, seed: int) -> None:
    """Draw the weights from the seed and write them whole: a broken write leaves no file.

    Every part keeps the variance of its input. The queries' bias lets all queries of a head favour
    the same keys, without which the attention a key received would not predict what it will get.
    """
    draw = torch.Generator().manual_seed(seed)
    tensors = Decoder(config).state_dict()
    for name, tensor in tensors.items():
        if "norm" not in name:
            unit = name.startswith("embedding") or name.endswith("bias")
            tensor.normal_(0.0, 1.0 if unit else tensor.shape[-1] ** -0.5, generator=draw)
        if name.endswith("bias"):  # of queries, keys and values, in this order
            tensor[config.width :] = 0.0
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    torch.save({"config": asdict(config), "tensors": tensors}, partial)
    os.replace(partial, path)


def load_model(path: Path, device: str) -> Decoder:
    """Read the weights from disk and build the decoder from them."""
    stored = torch.load(path, map_location=device, weights_only=True)
    with torch.device("meta"):
        model = Decoder(Config(**stored["config"]))
    model.load_state_dict(stored["tensors"], assign=True)
    return model.eval()


def new_cache(config: Config, fed_tokens: int, ratio: float | None) -> list:
    """An empty cache for `fed_tokens` tokens; a ratio compresses it to that share of them.

    Fed are the prompt and all generated tokens but the last, so that a ratio of 1 evicts nothing.
    """
    if ratio is None:
        return [FullLayer(fed_tokens) for _ in range(config.layers)]
    return [CompressedLayer(max(1, int(ratio * fed_tokens))) for _ in range(config.layers)]


@torch.inference_mode()
def generate(model, prompts: Tensor, count: int, ratio=None, forced: Tensor | None = None):
    """The greedy choices (B, count) after prompts (B, T): one prefill, then one token at a time.

    Where `forced` (B, count) is given, those tokens are fed instead of the choices.
    """
    cache = new_cache(model.config, prompts.shape[1] + count - 1, ratio)
    chosen = [model(prompts, 0, cache).argmax(-1)]
    for step in range(1, count):
        fed = chosen[-1] if forced is None else forced[:, step - 1]
        logits = model(fed.unsqueeze(1), prompts.shape[1] + step - 1, cache)
        chosen.append(logits.argmax(-1))
    return torch.stack(chosen, 1)
