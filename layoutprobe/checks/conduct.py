"""Rules for what a host program does with the device: no check of a kernel, `layoutprobe run` applies them."""

from __future__ import annotations

from layoutprobe.report.finding import Rule

NAME = "host"
LAW = "copies stay in their allocations and carry defined bytes, and streams wait for what they use"

COPY = Rule(
    "host/copy-out-of-bounds",
    "a copy or fill goes beyond the allocation that it begins in",
    "On a card it fails, or overwrites what lies behind: allocations of a driver share pages.",
    "compare the number of bytes with what was allocated; a count of elements is not one of bytes",
)
UNDEFINED = Rule(
    "host/undefined-copied",
    "the host copies bytes that nobody has written",
    "What hipMalloc gives holds anything. A result that is read there differs from run to run.",
    "look for elements that the kernel leaves out; clear the memory first, or copy what was written",
)
UNORDERED = Rule(
    "host/unordered",
    "two streams use the same memory, and nothing orders them",
    "Work of different streams overlaps: which of the two comes first changes from run to run.",
    "record an event behind the first and let the other stream wait for it, or use one stream",
)
LEAK = Rule(
    "host/leak",
    "memory is still allocated when the program ends",
    "A program that goes on allocating runs out of memory; one that ends gives it back.",
    "free it, or leave the check `leaks` out for memory that is meant to stay",
)
RULES = (COPY, UNDEFINED, UNORDERED, LEAK)
