"""What a rule has in its attributes for a link: targets, and files that it doesn't compile."""

visibility("//rules/...")

PREBUILT = ["a", "lo", "o", "rlib"]

def attribute_targets(rule_attr, private = True):
    """The targets in attributes of a rule.

    Args:
        rule_attr: `ctx.rule.attr` of an aspect.
        private: whether to include the attributes that a user can't set.

    Returns:
        list of Target.
    """
    found = []
    for name in dir(rule_attr):
        if name.startswith("_") and not private:
            continue
        value = getattr(rule_attr, name)
        for target in value if type(value) == "list" else [value]:
            if type(target) == "Target":
                found.append(target)
    return found

def prebuilt_srcs(rule):
    """Objects, archives and directories in the attribute `srcs`.

    Args:
        rule: `ctx.rule` of an aspect.

    Returns:
        list of File.
    """
    return [
        file
        for file in getattr(rule.files, "srcs", [])
        if file.extension in PREBUILT or file.is_directory
    ]
