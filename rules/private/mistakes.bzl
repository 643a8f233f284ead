"""Mistakes in the attributes of a target.

Each function `…_mistake` returns a sentence that says what is wrong and what to do, or None. Only
the implementation of a rule calls `fail(mistake)`. Bazel prints a traceback above the sentence;
with only one function in it, the traceback is short.
"""

visibility("//rules/...")

# Rule: mistakes in attributes: only a rule's implementation calls fail.
def first_mistake(mistakes):
    """The first mistake in a list of string and None: string, or None."""
    for mistake in mistakes:
        if mistake:
            return mistake
    return None
