"""Words of the document that people see although they stand in no sentence: marked here once.

A page shows them through ``msg(word)`` with the word taken from the data, which the extraction of
texts cannot see.
"""

from __future__ import annotations

from budget.messages import Message, msg

WORDS: tuple[Message, ...] = (
    # wait reasons
    msg("decision"),
    msg("fix"),
    msg("files"),
    msg("queue"),
    msg("other"),
    # scenarios
    msg("blocks"),
    msg("continuous"),
    msg("owned"),
    msg("buy"),
    # checks
    msg("deadline"),
    msg("cap"),
    # access to a machine
    msg("rented"),
    msg("granted"),
    # conditions
    msg("code version"),
    msg("model"),
    msg("input tokens"),
    msg("output tokens"),
    msg("batch size"),
    msg("number of GPUs"),
    msg("GPU"),
    msg("MIG profile"),
    msg("memory in bytes"),
    msg("torch"),
    msg("CUDA"),
    # sources of a figure
    msg("log"),
    msg("quote"),
    msg("declared"),
    msg("plan"),
    msg("threshold"),
    # answers
    msg("yes"),
    msg("no"),
    msg("unknown"),
    msg("not stated"),
    # units of a threshold
    msg("units"),
    msg("sessions"),
    # units of a price
    msg("machine-hour"),
    msg("machine-day"),
    msg("machine-month"),
    msg("machine-year"),
    msg("gpu-hour"),
    msg("kwh"),
    msg("hour"),
    msg("machine"),
)
