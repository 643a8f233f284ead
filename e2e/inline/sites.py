# Runs in gdb: stops at the addresses of sites, and compares what the locations of parameters say,
# read from registers and memory, with the values that gdb finds. gdb_test.go sets the variables
# `work` (a file with the sites and a description of the machine, as JSON) and `report` (the file to
# write).
#
# A parameter's text is as package inline describes it. gdb shows the parameters of the innermost
# block for a function at an address, whichever frame it selects there.

import gdb
import json
import re

VISITS = 2  # how often to compare with gdb at an address
MOST = 8  # how often to stop at an address


class Machine:
    """The registers and the memory at a stop."""

    def __init__(self):
        self.frame = gdb.newest_frame()

    def register(self, number):
        return self.frame.read_register(setup["Registers"][int(number)]).bytes

    def number(self, register):
        return int.from_bytes(self.register(register), order)

    def frame_base(self):
        """The canonical frame address, from the stack pointer of the caller after the return."""
        frame = self.frame
        while frame.type() == gdb.INLINE_FRAME:
            frame = frame.older()
        return int(frame.older().read_register("sp")) + setup["FrameBase"]

    def sum(self, text):
        base, sign, offset = re.fullmatch(r"(fb|\d+)(?:([+-])(\d+))?", text).groups()
        value = self.frame_base() if base == "fb" else self.number(base)
        offset = int(offset or 0)
        return (value - offset if sign == "-" else value + offset) & (2**64 - 1)

    def read(self, text, size):
        """The bytes of a parameter; None if they are unknown."""
        form, *rest = text.split(" ")
        if form == "?":
            return None
        if form == "const":
            assert int(rest[0]) == size
            return int(rest[1], 16).to_bytes(size, order)
        if form == "mem":
            return gdb.selected_inferior().read_memory(self.sum(rest[0]), size).tobytes()
        if form == "addr":
            data = ((setup["Start"] + int(rest[0], 16)) & (2**64 - 1)).to_bytes(8, order)
        elif form == "reg" and rest[0].isdigit():
            data = self.register(rest[0])
        elif form == "reg":
            data = self.sum(rest[0]).to_bytes(8, order)
        elif form == "regs":
            data = b"".join(self.register(r)[:8] for r in rest)
        else:
            raise ValueError(text)
        if len(data) < size:
            raise ValueError(f"{text} has only {len(data)} bytes")
        # The low bytes, but floating-point registers begin with the value in either byte order.
        floating = form == "reg" and rest[0].isdigit() and \
            setup["Registers"][int(rest[0])].startswith("f")
        return data[-size:] if order == "big" and not floating else data[:size]


def blocks(pc):
    """The blocks of inlined functions at an address, innermost first, each with its parameters."""
    found = []
    block = gdb.block_for_pc(pc)
    while block is not None and not block.is_static:
        if block.function is not None:
            found.append((block.function.name, {s.name: s for s in block if s.is_argument}))
        block = block.superblock
    return found[:-1]  # the last one is the function that isn't inlined


def shown(symbol, frame):
    """The bytes of a parameter as gdb shows it; None if gdb doesn't know them."""
    try:
        value = symbol.value(frame)
        value.fetch_lazy()
        return None if value.is_optimized_out else value.bytes
    except gdb.error as e:
        return None if "optimized out" in str(e) else str(e)


def compare(site, params, machine):
    """The outcome for each parameter."""
    outcome = []
    for p in site["Params"] or []:
        if p["Name"] not in params:
            want = None
        else:
            want = shown(params[p["Name"]], machine.frame)
        try:
            have = machine.read(p["Text"], p["Size"])
        except Exception as e:
            have = str(e)
        if p["Text"] == "?" and p["Cause"] != "no location":
            result = "no form"
        elif p["Views"]:
            result = "views"  # gdb doesn't support views
        elif have is None and want is None:
            result = "unknown"
        elif have == want:
            result = "equal"
        else:
            text = [x.hex() if isinstance(x, bytes) else str(x) for x in (want, have)]
            result = f"{p['Name']}: gdb {text[0]}, location {text[1]} ({p['Text']})"
        outcome.append(result)
    return outcome


class Passed:
    """What the program has written about the last call before a stop."""

    def __init__(self):
        value = gdb.parse_and_eval("passed")
        self.count, self.line, self.whole = (int(value[f]) for f in ("count", "line", "whole"))
        self.value = value

    def outcome(self, site, machine):
        """For each parameter of the site, how its location compares with what was passed."""
        for i, p in enumerate(site["Params"] or []):
            if p["Text"] == "?" or not self.whole >> i & 1:
                yield "unknown"
                continue
            want = self.value["values"][i].bytes[:p["Size"]]
            try:
                have = machine.read(p["Text"], p["Size"])
            except Exception as e:
                have = str(e)
            if have == want:
                yield "equal"
            else:
                have = have.hex() if isinstance(have, bytes) else have
                yield f"{p['Name']}: passed {want.hex()}, location {have} ({p['Text']})"


def good(result):
    return result in ("no form", "views", "unknown", "equal")


def look(sites, machine):
    """For each site of one function at an address, the outcome for its parameters.

    It is None if gdb has no block for the site. If several sites of a function have the same
    address, gdb usually has a block for one of them only.
    """
    shown_params = [params for name, params in blocks(machine.frame.pc())
                    if name == sites[0]["Function"]]
    tries = [[compare(site, params, machine) for params in shown_params] for site in sites]
    explained = [any(all(map(good, t[i])) for t in tries) for i in range(len(shown_params))]
    for outcomes in tries:
        best = min(outcomes, key=lambda o: sum(not good(r) for r in o), default=None)
        if best is not None and not all(map(good, best)) and all(explained):
            best = None
        yield best


def main():
    for setting in ("confirm off", "pagination off", "debuginfod enabled off", "width 0",
                    "breakpoint pending off", "disable-randomization on", "startup-with-shell off",
                    "backtrace past-main on"):
        gdb.execute("set " + setting)
    sites = setup["Sites"]
    by_address = {}
    for site in sites:
        site["Visits"], site["Outcome"], site["Passed"], site["Calls"] = 0, [], [], {}
        group = by_address.setdefault(site["Address"], {})
        group.setdefault(site["Function"], []).append(site)
    if setup["Remote"]:
        gdb.execute("target remote " + setup["Remote"], to_string=True)
    else:
        gdb.execute("starti", to_string=True)
    breakpoints = {a: gdb.Breakpoint(f"*{a:#x}", internal=True) for a in by_address}
    gdb.execute("continue", to_string=True)
    while gdb.selected_inferior().pid != 0:
        pc = gdb.newest_frame().pc()
        if pc not in by_address:
            raise RuntimeError(f"a stop at {pc:#x}: {gdb.execute('info program', to_string=True)}")
        machine, passed = Machine(), Passed()
        visits = 0
        for group in by_address[pc].values():
            for site in group:
                if site["Entry"] and site["Line"] == passed.line and passed.count not in site["Calls"] and \
                        [s["Line"] for s in group].count(passed.line) == 1:
                    site["Passed"].append(list(passed.outcome(site, machine)))
                site["Calls"][passed.count] = True
                site["Visits"] += 1
                visits = max(visits, site["Visits"])
            shown = [s for s in group if not s["Hidden"] and s["Visits"] <= VISITS]
            if shown:
                for site, outcome in zip(shown, look(shown, machine)):
                    site["Outcome"].append(outcome)
        breakpoints[pc].enabled = visits < MOST
        gdb.execute("continue", to_string=True)
    json.dump(sites, open(report, "w"))


setup = json.load(open(work))
order = setup["Order"]
main()
