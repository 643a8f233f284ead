"""Mistakes in the attributes of a target.

Each function `…_mistake` returns a sentence that says what is wrong and what to do, or None. Only
the implementation of a rule fails, with `fail(mistake, **FAIL)`: before Bazel 9.1, Bazel prints a
traceback of all functions from the implementation to `fail`, and only then the sentence.
"""

load("@btf_toolchains//:bazel.bzl", _FAIL = "FAIL")

# Arguments for `fail`: no traceback, if this Bazel can leave it out.
FAIL = _FAIL

def first_mistake(mistakes):
    """The first mistake in a list of string and None: string, or None."""
    for mistake in mistakes:
        if mistake:
            return mistake
    return None
