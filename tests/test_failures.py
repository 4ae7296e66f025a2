"""What an error means: its cause from the log, or from the text of a log that has none."""

import pytest
from factory import OOM, REFUSED, attempt, failure, replace

from budget.failures import NO_KERNEL, OUT_OF_MEMORY, cause_of, line_of, says, shows
from budget.probe import causes


@pytest.mark.parametrize("name", [*OUT_OF_MEMORY, *NO_KERNEL])
def test_every_cause_that_a_rule_rests_on_stands_in_the_table(name):
    assert causes.by_id(name) is not None


@pytest.mark.parametrize(
    ("error", "memory", "kernel"),
    [
        (OOM, True, False),
        (REFUSED, False, True),
        (failure("can't allocate memory: you tried to allocate 1 bytes"), True, False),
        (failure("", "MemoryError"), True, False),
        (failure("The NVIDIA driver on your system is too old"), False, True),
        (failure("Forward compatibility was attempted on non supported HW"), False, True),
        (failure("CUDA error: invalid device function"), False, True),
        (failure("no module named x", "ModuleNotFoundError"), False, False),
        (failure("typo"), False, False),
    ],
)
def test_an_older_log_is_understood_from_its_text(error, memory, kernel):
    assert (says(error, OUT_OF_MEMORY), says(error, NO_KERNEL)) == (memory, kernel)
    assert shows(attempt(failures=(failure("a warning"), error)), OUT_OF_MEMORY) is memory


def test_the_cause_that_the_log_states_outranks_the_text():
    stated = replace(failure("CUDA out of memory"), cause="disk-full", line="No space left")
    assert cause_of(stated).id == "disk-full"
    assert line_of(stated) == "No space left"
    assert not says(stated, OUT_OF_MEMORY)


def test_a_cause_that_this_version_does_not_know_is_read_from_the_text():
    assert cause_of(replace(OOM, cause="from-the-future")).id == "gpu-out-of-memory"


def test_the_deciding_line_of_an_older_log_is_found():
    error = failure("Traceback\nCUDA out of memory. Tried to allocate 2 GiB\nmore")
    assert line_of(error) == "CUDA out of memory. Tried to allocate 2 GiB"
    assert line_of(failure("typo")) is None
