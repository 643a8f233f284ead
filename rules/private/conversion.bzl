"""What a conversion reads and encodes: the attributes of rules, and the flags of actions."""

load(":debug_files.bzl", "DEBUG_ATTRS", "add_debug_files", "debug_files", "debug_files_of")
load(":features.bzl", "names_mistake")
load(":settings.bzl", "SETTINGS_ATTRS", "settings_of")

visibility("//rules/...")

# A target can set these attributes in place of the flags.
CHOICE_ATTRS = {
    "btf_features": attr.string_list(
        doc = """What to encode: [names of features](features.md), such as
`["default", "global_var"]`. If empty, the value of the flag
`@rules_btf//rules/settings:btf_features` is used, which is `default` unless it is set.""",
    ),
    "input": attr.string(
        doc = """Which debug information to read: `dwarf`; `btf`, the BTF that the compiler wrote
(`gcc -gbtf`); or `auto`: DWARF if a file has it, else BTF. If empty, the value of the flag
`@rules_btf//rules/settings:input` is used, which is `auto` unless it is set.""",
        values = ["", "auto", "btf", "dwarf"],
    ),
    "lang_exclude": attr.string_list(
        doc = """Source languages (`rust`, `c++`, ...) to leave out; `c++` means every version of
C++. If empty, the value of the flag `@rules_btf//rules/settings:lang_exclude` is used, which is
empty unless it is set.""",
    ),
}

CONVERSION_ATTRS = SETTINGS_ATTRS | DEBUG_ATTRS | CHOICE_ATTRS

def conversion_of(attr, beside = None):
    """The conversion that the attributes of a target, or of an applied aspect, describe.

    Args:
        attr: `ctx.attr` of a rule with CONVERSION_ATTRS or of an aspect with SETTINGS_ATTRS.
        beside: what `debug_files` returned. If it is None, the attributes have the debug files.

    Returns:
        a struct of `btf_features` and `lang_exclude`, lists of string; `input`, string;
        and `beside`, what `debug_files_of` returned.
    """
    settings = settings_of(attr)
    return struct(
        btf_features = getattr(attr, "btf_features", []) or settings.btf_features,
        lang_exclude = getattr(attr, "lang_exclude", []) or settings.lang_exclude,
        input = getattr(attr, "input", "") or settings.input,
        beside = beside or debug_files_of(attr),
    )

def conversion_mistake(attr):
    """What is wrong with the CONVERSION_ATTRS of a target: string, or None."""
    return names_mistake(attr.btf_features)

def chosen(attr):
    """The names of the CHOICE_ATTRS that a target sets: list of string."""
    return [name for name in CHOICE_ATTRS if getattr(attr, name)]

def with_debug_files(conversion, beside):
    """A copy of a conversion with different debug files.

    Args:
        conversion: what `conversion_of` returned.
        beside: what `debug_files` returned.

    Returns:
        what `conversion_of` returns.
    """
    return struct(
        btf_features = conversion.btf_features,
        lang_exclude = conversion.lang_exclude,
        input = conversion.input,
        beside = beside,
    )

def with_features(conversion, features):
    """A copy of a conversion with different features.

    Args:
        conversion: what `conversion_of` returned.
        features: list of string.

    Returns:
        what `conversion_of` returns.
    """
    return struct(
        btf_features = features,
        lang_exclude = conversion.lang_exclude,
        input = conversion.input,
        beside = conversion.beside,
    )

def for_objects(conversion):
    """The same conversion without the debug files that only linked files have."""
    beside = conversion.beside
    return with_debug_files(conversion, debug_files(beside.dwos + beside.members))

def add_features(args, features):
    """Adds `--features`, unless the list of features is empty."""
    if features:
        args.add_joined(features, join_with = ",", format_joined = "--features=%s")

def add_conversion(args, elves, conversion):
    """Adds the flags of `btfgen object` for what `conversion_of` returned.

    Args:
        args: Args.
        elves: list of File, what the action converts.
        conversion: what `conversion_of` returned.
    """
    if conversion.input != "auto":
        args.add(conversion.input, format = "--input=%s")
    add_dwarf(args, elves, conversion)

def add_dwarf(args, elves, conversion):
    """Like `add_conversion`, for a verb that reads only DWARF."""
    add_debug_files(args, elves, conversion.beside)
    add_features(args, conversion.btf_features)
    if conversion.lang_exclude:
        args.add_joined(
            conversion.lang_exclude,
            join_with = ",",
            format_joined = "--lang-exclude=%s",
        )
