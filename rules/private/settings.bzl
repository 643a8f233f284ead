"""The flags of conversions, read once: aspects and rules depend on one target that has them all.

Bazel takes more time for the dependencies of an aspect than for our implementation, so one is
better than several.
"""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")

visibility("//rules/...")

ConversionSettingsInfo = provider(
    doc = "The values of the flags in //rules/settings.",
    fields = {
        "btf_features": "list of string",
        "grain": "struct, what `parsed_grain` returned",
        "input": "string",
        "lang_exclude": "list of string",
    },
)

# With grain = "directory", one action converts at most this many objects from a directory.
DIRECTORY_MOST = 128

def parsed_grain(value):
    """Reads a grain.

    Args:
        value: string.

    Returns:
        struct of `most` (int, the maximum number of objects in a group), and `few` (int: if a
        directory has fewer objects than this, they are grouped with those of its parent). None if
        value is not a grain.
    """
    if value == "object":
        return struct(most = 1, few = 0)
    if value == "directory":
        return struct(most = DIRECTORY_MOST, few = 0)
    if value.isdigit() and int(value) > 0:
        return struct(most = int(value), few = int(value) // 4)
    return None

def grain_mistake(name, value):
    """What is wrong with the value of an attribute or flag: string, or None."""
    if parsed_grain(value):
        return None
    return "{} is \"{}\"; expected \"object\", \"directory\" or a positive number".format(
        name,
        value,
    )

def _conversion_settings_impl(ctx):
    grain = ctx.attr.grain[BuildSettingInfo].value
    mistake = grain_mistake("@rules_btf//rules/settings:grain", grain)
    if mistake:
        fail(mistake)
    return [ConversionSettingsInfo(
        btf_features = ctx.attr.btf_features[BuildSettingInfo].value,
        grain = parsed_grain(grain),
        input = ctx.attr.input[BuildSettingInfo].value,
        lang_exclude = ctx.attr.lang_exclude[BuildSettingInfo].value,
    )]

def _setting():
    return attr.label(mandatory = True, providers = [BuildSettingInfo])

conversion_settings = rule(
    implementation = _conversion_settings_impl,
    attrs = {
        "btf_features": _setting(),
        "grain": _setting(),
        "input": _setting(),
        "lang_exclude": _setting(),
    },
    provides = [ConversionSettingsInfo],
)

SETTINGS_ATTRS = {
    "_settings": attr.label(
        default = Label("//rules/settings:conversion"),
        providers = [ConversionSettingsInfo],
    ),
}

def settings_of(attr):
    """ConversionSettingsInfo, from `ctx.attr` of a rule or aspect with SETTINGS_ATTRS."""
    return attr._settings[ConversionSettingsInfo]
