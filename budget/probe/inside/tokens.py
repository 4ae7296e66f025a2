"""Counts the tokens of a generate call of transformers, from what went in and what came out.

Tokens are of one sequence: the mean over the batch, rounded. Input: those that the attention mask
shows, so without padding; of an encoder-decoder model the encoder's. Output: the new tokens up to
and with the first end token, without the padding after it. The ids are copied to the host once,
after the call; nothing is computed on a card.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence, Tuple

from .generation import Sizes
from .wrapping import bound

POSITIONAL = ("inputs", "generation_config")


def of_generate(model: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any], result: Any) -> Sizes:
    """The sizes of one call."""
    given = bound(POSITIONAL, args, kwargs)
    sequences = result if hasattr(result, "tolist") else result.sequences
    rows: List[List[int]] = sequences.tolist()
    start = _start(model, given)
    ends = _ids(setting(model, given, "eos_token_id"))
    pads = _ids(setting(model, given, "pad_token_id")) or ends[:1]
    produced = [_produced(row[start:], ends, pads, len(rows) > 1) for row in rows]
    return Sizes(_mean(_processed(given, ends, pads)), _mean(produced), batch_size(given))


def setting(model: Any, given: Dict[str, Any], name: str) -> Any:
    """A value as the call takes it: its argument, else its configuration's, else the model's."""
    if given.get(name) is not None:
        return given[name]
    for configuration in (
        given.get("generation_config"),
        getattr(model, "generation_config", None),
    ):
        value = getattr(configuration, name, None)
        if value is not None:
            return value
    return None


def batch_size(given: Dict[str, Any]) -> Optional[int]:
    """Sequences that go in; None where the call names no input of a known kind."""
    for name in ("inputs", "input_ids", "inputs_embeds", "input_features", "pixel_values"):
        shape = getattr(given.get(name), "shape", None)
        if shape is not None and len(shape) > 0:
            return int(shape[0])
    return None


def _ids_in(given: Dict[str, Any]) -> Any:
    for name in ("input_ids", "inputs"):
        ids = given.get(name)
        if ids is not None and len(ids.shape) == 2 and not ids.is_floating_point():
            return ids
    return None


def _processed(given: Dict[str, Any], ends: List[int], pads: List[int]) -> Optional[List[int]]:
    """Input tokens of each sequence."""
    ids, embedded = _ids_in(given), given.get("inputs_embeds")
    source = ids if ids is not None else embedded
    if source is None:
        return None
    shape = tuple(int(size) for size in source.shape[:2])
    mask = given.get("attention_mask")
    if mask is not None and tuple(mask.shape) == shape:
        return [sum(1 for shown in row if shown) for row in mask.tolist()]
    # transformers takes padding out by itself, where it cannot be an end
    if mask is None and ids is not None and pads and not set(pads) & set(ends):
        return [sum(1 for token in row if token not in pads) for row in ids.tolist()]
    return [shape[1]] * shape[0]


def _start(model: Any, given: Dict[str, Any]) -> int:
    """Where in a resulting sequence the new tokens begin."""
    if getattr(model.config, "is_encoder_decoder", False):
        given_ids = given.get("decoder_input_ids")
        if given_ids is None:
            return 1
        first = _ids(setting(model, given, "decoder_start_token_id"))
        begun = all(row[:1] == first[:1] for row in given_ids.tolist())
        return int(given_ids.shape[1]) + (0 if begun else 1)
    ids = _ids_in(given)
    if ids is not None:
        return int(ids.shape[1])
    # with embeddings alone only new tokens come back; with nothing, a begin token is put before
    return 0 if given.get("inputs_embeds") is not None else 1


def _produced(row: Sequence[int], ends: List[int], pads: List[int], is_batch: bool) -> int:
    for place, token in enumerate(row):
        if token in ends:
            return place + 1
    count = len(row)
    # a sequence that something else stopped waits for the others, which is told by their ends
    while is_batch and ends and count > 1 and row[count - 1] in pads:
        count -= 1
    return count


def _ids(value: Any) -> List[int]:
    if value is None:
        return []
    if hasattr(value, "tolist"):
        value = value.tolist()
    return [int(item) for item in value] if isinstance(value, (list, tuple)) else [int(value)]


def _mean(counts: Optional[List[int]]) -> Optional[int]:
    return int(sum(counts) / len(counts) + 0.5) if counts else None
