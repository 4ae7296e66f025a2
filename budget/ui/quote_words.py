"""The words of a quote: what is offered, per what, and what the price holds."""

from __future__ import annotations

from budget.messages import Message, msg

KINDS: dict[str, Message] = {
    "on-demand": msg("rent by use"),
    "spot": msg("rent that can be withdrawn (spot)"),
    "reserved": msg("rent for a fixed period (reserved)"),
    "purchase": msg("purchase of a machine"),
    "energy": msg("electricity"),
    "colocation": msg("place in a data centre"),
    "administration": msg("administration"),
    "maintenance": msg("maintenance"),
    "storage": msg("storage"),
    "transfer": msg("data transfer"),
    "resale": msg("resale of a machine"),
    "exchange": msg("exchange rate"),
}
UNITS: dict[str, Message] = {
    "gpu-hour": msg("GPU-hour"),
    "machine-hour": msg("machine-hour"),
    "machine-day": msg("machine-day"),
    "machine-month": msg("machine-month"),
    "machine-year": msg("machine-year"),
    "machine": msg("machine"),
    "kwh": msg("kWh"),
    "hour": msg("hour of work"),
    "gb-month": msg("GB and month"),
    "percent-year": msg("percent of the price and year"),
}
CONTENTS: dict[str, Message] = {
    "included": msg("included"),
    "excluded": msg("not included"),
    "unknown": msg("unknown"),
}
