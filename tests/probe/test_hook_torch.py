"""Programs that use PyTorch alone: what is read, moved and called, and the peaks of memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from budget.probe import memory
from budget.probe.inside import counters
from budget.probe.inside.counters import Cuda, Reading, Stretch, peak
from tests.probe.desk import Desk

MODEL = """
import json, time
import torch
from torch import nn

class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(64, 64)
    def forward(self, x):
        return torch.relu(self.line(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList(Part() for _ in range(3))
    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x

torch.save(Net().state_dict(), "weights.pt")
time.sleep(0.2)
began = time.monotonic()
net = Net()
net.load_state_dict(torch.load("weights.pt"))
load_s = time.monotonic() - began
x = torch.ones(4, 64)
"""


def said(desk: Desk, code: str) -> Any:
    """What a program prints, as the last line, in JSON."""
    done = desk.python(MODEL + code)
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout.splitlines()[-1])


def ends(desk: Desk) -> list[tuple[str, str]]:
    """Names and outcomes of the phases."""
    return [(end["phase"], end["outcome"]) for end in desk.records("phase.end")]


def test_a_model_of_the_programs_own_is_loaded_and_called(desk: Desk) -> None:
    run_s = said(
        desk,
        """
began = time.monotonic()
for _ in range(20):
    net(x)
    time.sleep(0.01)
run_s = time.monotonic() - began - 0.01
time.sleep(0.3)
print(json.dumps(run_s))
""",
    )
    assert ends(desk) == [("prepare", "ok"), ("load", "ok"), ("load", "ok"), ("run", "ok")]
    run = desk.records("phase.end")[-1]
    assert run["duration_s"] == pytest.approx(run_s, rel=0.02)
    # of the 20 x 4 modules' calls, those of the outermost
    assert run["forward_calls"] == 20
    assert desk.records("call") == []


def test_compiled_models_are_compiled_whole_and_seen(desk: Desk) -> None:
    found = said(
        desk,
        """
seen = []
def backend(graph, inputs):
    seen.append(len(graph.graph.nodes))
    return graph.forward
whole = torch.compile(net, backend=backend, fullgraph=True)
equal = [torch.equal(whole(x), net(x)) for _ in range(3)]
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = net
    def forward(self, x):
        return self.net(x) + 1
outer = torch.compile(Outer(), backend=backend, fullgraph=True)
equal.append(torch.equal(outer(x), net(x) + 1))
net.compile(backend=backend, fullgraph=True)
equal.append(net(x).shape == x.shape)
traced = torch.jit.trace(Net().eval(), x)
equal.append(traced(x).shape == x.shape)
graph = torch.fx.symbolic_trace(Net())
equal.append(graph(x).shape == x.shape)
exported = torch.export.export(Net(), (x,))
equal.append(exported.module()(x).shape == x.shape)
print(json.dumps({"equal": equal, "graphs": len(seen)}))
""",
    )
    assert all(found["equal"])
    # one graph for each of the three that were compiled: nothing breaks them
    assert found["graphs"] == 3
    assert desk.records("phase.end")[-1]["forward_calls"] >= 3 + 3 + 1 + 1


def test_a_class_of_the_main_module_pickles_whole_without_the_probe(desk: Desk) -> None:
    """As libraries do that send a program's classes to workers."""
    found = said(
        desk,
        """
import types
call = Net.__call__
names = {type(cell.cell_contents).__name__ for cell in call.__closure__}
held = [name for name in call.__code__.co_names if "probe" in str(call.__globals__.get(name))]
copy = types.FunctionType(call.__code__, {"sys": types.SimpleNamespace(modules={})},
                          "call", None, call.__closure__)
print(json.dumps({"held": held, "same": torch.equal(copy(net, x), net(x))}))
""",
    )
    assert found == {"held": [], "same": True}


def test_a_model_that_is_moved_is_loaded_further_and_one_that_stays_is_not(desk: Desk) -> None:
    said(
        desk,
        """
net.to("cpu")
net.to(torch.float32)
net.to(torch.bfloat16)
net(x.bfloat16())
net.to(torch.float32)
torch.load("weights.pt")
net(x)
print("0")
""",
    )
    names = [name for name, _ in ends(desk)]
    # read, filled, moved; once it works, nothing is
    assert names == ["prepare", "load", "load", "load", "run"]


def test_a_program_that_reads_many_small_files_does_not_fill_the_log(desk: Desk) -> None:
    said(desk, 'for _ in range(300):\n    torch.load("weights.pt")\nprint("0")\n')
    assert len(desk.records("phase.end")) == 1 + 100


def test_the_workers_of_a_data_loader_write_nothing(desk: Desk) -> None:
    said(
        desk,
        """
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, place):
        return torch.load("weights.pt")["parts.0.line.bias"] + place
for batch in torch.utils.data.DataLoader(Data(), num_workers=2):
    net(batch)
print("0")
""",
    )
    assert len(desk.records("session.start")) == 2


def test_a_failed_read_is_a_failed_load(desk: Desk) -> None:
    code = 'try:\n    torch.load("none.pt")\nexcept FileNotFoundError:\n    print("0")\n'
    said(desk, code)
    assert ends(desk)[-1] == ("load", "failed")
    assert desk.only("error")["kind"] == "FileNotFoundError"


def test_torch_that_an_environment_imports_first_is_watched_too(desk: Desk) -> None:
    (desk.folder / "early").mkdir()
    (desk.folder / "early" / "usercustomize.py").write_text("", encoding="utf-8")
    code = """
import sys, torch
finder = __import__("_compute_budget_probe.inside.finder", fromlist=["x"])
torch.load = torch.serialization.load = torch.load.__wrapped__
finder.watch_present()
print(hasattr(torch.load, "_compute_budget_watched"))
"""
    assert desk.python(code).stdout == b"True\n"


# In use now and the peak, at the start and at the end; then what resets took: in use and peak at
# the first, and the highest after it.
@pytest.mark.parametrize(
    ("start", "end", "lost", "expected"),
    [
        # it rose: the peak is the stretch's own
        ((10, 20), (12, 30), None, (30, True)),
        # it did not rise: only what is in use is known
        ((10, 20), (15, 20), None, (15, False)),
        # it did not rise, but that much is in use at the end
        ((10, 20), (20, 20), None, (20, True)),
        # it rose to 30 before the reset and reached 25 after it
        ((10, 20), (5, 25), (12, 30, 0), (30, True)),
        # it did not rise before the reset: at most 20 then, and 25 since
        ((10, 20), (5, 25), (12, 20, 0), (25, True)),
        # at most 20 before the reset, and 15 since: 12 was in use for certain, 15 since
        ((10, 20), (5, 15), (12, 20, 0), (15, False)),
        # between two resets it had reached 40
        ((10, 20), (5, 15), (12, 20, 40), (40, True)),
        # 18 was in use at the first reset, more than ever since
        ((10, 20), (5, 15), (18, 20, 16), (18, False)),
    ],
)
def test_a_peak_from_counters_that_the_program_resets(
    start: tuple[int, int],
    end: tuple[int, int],
    lost: tuple[int, int, int] | None,
    expected: tuple[int, bool],
) -> None:
    assert peak(start, end, lost) == expected


class Card:
    """One card's counters, as PyTorch names them."""

    def __init__(self) -> None:
        self.tensors = [0, 0]
        self.reserved = [0, 0]

    def use(self, tensors: int, reserved: int) -> None:
        """Have so much in use from now on."""
        for counter, now in ((self.tensors, tensors), (self.reserved, reserved)):
            counter[:] = [now, max(counter[1], now)]

    def memory_stats_as_nested_dict(self, device: int) -> dict[str, Any]:
        """What PyTorch gives, as far as it is read."""
        return {
            name: {"all": {"current": counter[0], "peak": counter[1]}}
            for name, counter in (
                ("allocated_bytes", self.tensors),
                ("reserved_bytes", self.reserved),
            )
        }

    def reset(self) -> None:
        """What the program's reset does, the probe's fold before it."""
        counters.before_reset(0, self)
        self.tensors[1], self.reserved[1] = self.tensors[0], self.reserved[0]

    def reading(self) -> Reading:
        """As the probe reads it."""
        return Reading(memory.Resident(None, None), {0: counters.card(self, 0)})


def test_stretches_within_each_other_keep_what_a_reset_takes() -> None:
    card = Card()
    card.use(10, 20)
    outer = Stretch(card.reading())
    card.use(70, 80)
    inner = Stretch(card.reading())
    card.use(30, 80)
    card.reset()  # outer: it had risen to 70; inner: 70 was in use when it began
    card.use(50, 80)
    card.reset()  # since the first: 50
    card.use(20, 40)
    inner.note(card.reading())
    outer.note(card.reading())
    inner.close()
    outer.close()
    for stretch in (inner, outer):
        host, entry = stretch.entries("hook")
        assert host["resident_peak_bytes"] is None
        assert (entry["tensor_peak_bytes"], entry["allocator_peak_bytes"]) == (70, 80)
        assert entry["exact"] is True
    # what the program reads is what it would read without the probe
    assert card.tensors == [20, 50]


def test_a_closed_stretch_keeps_nothing_of_later_resets() -> None:
    card = Card()
    card.use(10, 10)
    stretch = Stretch(card.reading())
    stretch.close()
    card.use(90, 90)
    card.reset()
    assert stretch.later_resets == {}


RESETS = """
import json, sys, types
import torch
now = {"tensors": [5, 9], "reserved": [10, 10]}
def stats(device=None):
    assert device in (0, None)
    return {name: {"all": dict(zip(("current", "peak"), now[key]))}
            for name, key in (("allocated_bytes", "tensors"), ("reserved_bytes", "reserved"))}
def reset(device):
    for counter in now.values():
        counter[1] = counter[0]
torch.cuda.is_initialized = lambda: True
torch.cuda.device_count = lambda: 1
torch.cuda.current_device = lambda: 0
torch.cuda.memory_stats_as_nested_dict = torch.cuda.memory.memory_stats_as_nested_dict = stats
torch.cuda.memory.is_initialized = lambda: True
torch._C._cuda_resetPeakMemoryStats = reset
torch.cuda.memory._get_device_index = lambda device, optional=False: 0
"""


def test_a_programs_resets_do_not_lose_the_peak_and_it_reads_what_it_would_read(
    desk: Desk,
) -> None:
    code = (
        MODEL.replace("import json, time\nimport torch\n", RESETS + "import time\n")
        + """
class Peak(nn.Module):
    def forward(self, high):
        now["tensors"][:] = [20, max(high, now["tensors"][1])]
        now["reserved"][:] = [40, max(high + 5, now["reserved"][1])]
peak = Peak()
peak.load_state_dict({})
peak(80)
torch.cuda.reset_peak_memory_stats()
read = [torch.cuda.max_memory_allocated()]
peak(30)
torch.cuda.reset_peak_memory_stats(torch.device("cuda", 0))
import warnings
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    torch.cuda.reset_max_memory_allocated()
read.append(torch.cuda.max_memory_allocated())
print(json.dumps([read, warned[0].filename]))
"""
    )
    done = desk.python(code)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == [[20, 20], "<string>"]
    run = desk.records("phase.end")[-1]
    (card,) = run["memory"][1:]
    # 80 before the first reset, which was more than the 9 at the start: the run's own
    assert (card["tensor_peak_bytes"], card["allocator_peak_bytes"]) == (80, 85)
    assert card["exact"] is True


def test_a_reading_of_an_older_torch() -> None:
    class Old:
        memory_allocated = staticmethod(lambda device: 1)
        max_memory_allocated = staticmethod(lambda device: 2)
        memory_reserved = staticmethod(lambda device: 3)
        max_memory_reserved = staticmethod(lambda device: 4)

    assert counters.card(Old, 0) == Cuda(1, 2, 3, 4)
