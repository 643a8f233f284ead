"""Attributes of rules that convert debug information: what to read, and what to encode."""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load(":debug_files.bzl", "DEBUG_ATTRS", "debug_files", "debug_files_of")
load(":features.bzl", "check_names")

# Build settings, for rules and for the aspect, which can have no list attributes.
CONVERSION_SETTINGS = {
    "_btf_features": attr.label(
        doc = "Features of targets that set none.",
        default = Label("//rules/settings:btf_features"),
        providers = [BuildSettingInfo],
    ),
    "_input": attr.label(
        doc = "Which debug information to read for targets that don't set input.",
        default = Label("//rules/settings:input"),
        providers = [BuildSettingInfo],
    ),
    "_lang_exclude": attr.label(
        doc = "Excluded languages of targets that set none.",
        default = Label("//rules/settings:lang_exclude"),
        providers = [BuildSettingInfo],
    ),
    "_workers": attr.label(
        doc = "Whether BtfGen and the links of modules may run in persistent workers.",
        default = Label("//rules/settings:workers"),
        providers = [BuildSettingInfo],
    ),
}

# Attributes of a target that replace the flags.
CHOICE_ATTRS = {
    "btf_features": attr.string_list(
        doc = """What to encode: [names of features](features.md), such as
`["default", "global_var"]`. Empty: the flag `@rules_btf//rules/settings:btf_features`, by default
`default`.""",
    ),
    "input": attr.string(
        doc = """Which debug information to read: `dwarf`; `btf`, that of the compiler
(`gcc -gbtf`); or `auto`, DWARF if a file has it, else BTF. Empty: the flag
`@rules_btf//rules/settings:input`, by default `auto`.""",
        values = ["", "auto", "btf", "dwarf"],
    ),
    "lang_exclude": attr.string_list(
        doc = """Source languages (`rust`, `c++`, ...) to leave out; `c++` is each of its versions.
Empty: the flag `@rules_btf//rules/settings:lang_exclude`, by default none.""",
    ),
    "skip_unencodable": attr.bool(
        doc = """Whether units that BTF can't express, such as those with C++ pointers to members,
are left out with a warning. By default they are an error.""",
    ),
}

CONVERSION_ATTRS = CONVERSION_SETTINGS | DEBUG_ATTRS | CHOICE_ATTRS

def conversion_of(attr):
    """The conversion that a target or an aspect application asks for.

    Args:
        attr: `ctx.attr` of a rule with CONVERSION_ATTRS or of an aspect with CONVERSION_SETTINGS.

    Returns:
        a struct of `btf_features` and `lang_exclude`, lists of string; `input`, string;
        `skip_unencodable`, bool; and `beside`, what `debug_files_of` returned.
    """
    check_names(getattr(attr, "btf_features", []))
    default_features = attr._btf_features[BuildSettingInfo].value
    default_exclude = attr._lang_exclude[BuildSettingInfo].value
    return struct(
        btf_features = getattr(attr, "btf_features", []) or default_features,
        lang_exclude = getattr(attr, "lang_exclude", []) or default_exclude,
        input = getattr(attr, "input", "") or attr._input[BuildSettingInfo].value,
        skip_unencodable = getattr(attr, "skip_unencodable", False),
        beside = debug_files_of(attr),
    )

def chosen(attr):
    """Names of the attributes of CHOICE_ATTRS that a target sets: list of string."""
    return [name for name in CHOICE_ATTRS if getattr(attr, name)]

def with_debug_files(conversion, beside):
    """The conversion with other debug files.

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
        skip_unencodable = conversion.skip_unencodable,
        beside = beside,
    )

def for_objects(conversion):
    """The conversion for objects: a package or a debug file belongs to their linked file only."""
    beside = conversion.beside
    return with_debug_files(conversion, debug_files(beside.dwos + beside.members, beside.alt))
