#!/usr/bin/env python3
"""Prints a kprobe for each site of an inlined function, one in each line.

The input, a file or standard input, is the output of "btfdedup dump --inline --format=json --elf
FILE", for x86-64, arm64, riscv64 or s390x. The lines have the form of Linux's file
tracing/dynamic_events (see Documentation/trace/kprobetrace.rst). A parameter is left out if its
location isn't known, or if a kprobe can't read it.
"""
import fileinput
import json
import re
import sys

CONSTANT = re.compile(r"-?(0x)?[0-9a-f]+$")
MEMORY = re.compile(r"\*\(%?(\w+)(?: ([+-]) (\w+))?\)$")
REGISTER = re.compile(r"%?(\w+)$")
# A register of x86-64: the kernel's names don't say how wide it is.
X86 = re.compile(r"[re]?([abcd]x|[sd]i|[bs]p)$|([abcd])l$|([sd]i|[bs]p)l$|(r\d+)[bwd]$")
# A register of the other machines, and those that have the same name in the kernel.
OTHER = re.compile(r"([xwrast]\d+|[gt]p|ra)$")


def register(name):
    """The kernel's name of a register; None if struct pt_regs doesn't have it."""
    if m := X86.match(name):
        return m[1] or m[2] and m[2] + "x" or m[3] or m[4]
    return name.replace("w", "x") if OTHER.match(name) else None


def fetch(location):
    """What a kprobe reads for a location; None if it can't read there."""
    if CONSTANT.match(location):
        return "\\" + location
    if m := MEMORY.match(location):
        base = register(m[1])
        return base and f"{m[2] or '+'}{m[3] or 0}(%{base})"
    m = REGISTER.match(location)
    base = m and register(m[1])
    return base and "%" + base


def probe(number, site):
    """The line for a site. Values are printed in hexadecimal."""
    words = [f"p:inline/{site['function'][:48]}_{number}", site["caller"]]
    for p in site["parameters"]:
        value = fetch(p.get("location", ""))
        if value and p["name"].isidentifier() and p["size"] in (1, 2, 4, 8):
            words.append(f"{p['name']}={value}:x{8 * p['size']}")
    return " ".join(words)


for number, line in enumerate(fileinput.input(), 1):
    site = json.loads(line)
    if "caller" not in site:
        sys.exit(f"{site['section']}+{site['offset']:#x} has no caller: pass the file of the sites "
                 "to btfdedup dump as --elf")
    print(probe(number, site))
