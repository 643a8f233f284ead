"""Lists of features, in the form for `btfgen object --features` (internal/model/features)."""

load(":settings.bzl", "settings_of")

visibility("//rules/...")

# These are the features of "default"; the test e2e/features compares them with those of the tool.
_DEFAULT = [
    "encode_force",
    "var",
    "float",
    "decl_tag",
    "type_tag",
    "enum64",
    "optimized_func",
    "consistent_func",
    "decl_tag_kfuncs",
]

# These are the features of "all": those that apply to every kind of file.
_ALL = _DEFAULT + ["reproducible_build", "global_var", "attributes", "true_signature"]

# BTF may differ from its base in these features, because they don't change how types are encoded,
# only where the BTF goes and which variables it has.
_OWN = ["distilled_base", "global_var", "reproducible_build"]

# Each of these names selects several features, or none that BTF objects record.
_SETS = {
    "all": _ALL,
    "default": _DEFAULT,
    "force_cu_merging": [],
    "none": [],
    "skip_unencodable": [],
}

# A list may contain these names.
_NAMES = _ALL + ["distilled_base", "layout"] + _SETS.keys()

def names_mistake(features):
    """What is wrong with the names in a list of features.

    Args:
        features: list of string, as for `feature_set`.

    Returns:
        string, or None if all names are known.
    """
    for item in ",".join(features).split(","):
        name = item[1:] if item[:1] in ["+", "-"] else item
        if item and name not in _NAMES:
            return "btf_features: unknown feature \"{}\"; the known features are {}".format(
                name,
                ", ".join(_NAMES),
            )
    return None

def _meant(name):
    return _SETS.get(name, [name])

def feature_set(features):
    """The features in a list.

    Args:
        features: list of string, the items of a list for `--features`. An item may be a list, with
            commas.

    Returns:
        sorted list of string, the names of individual features. Unknown names are kept;
        `names_mistake` finds them.
    """
    items = [item for item in ",".join(features).split(",") if item] or ["default"]
    found = {}
    if items[0][0] in "+-":
        found.update({name: None for name in _DEFAULT})
    for item in items:
        if item.startswith("-"):
            for name in _meant(item[1:]):
                found.pop(name, None)
        else:
            found.update({name: None for name in _meant(item.removeprefix("+"))})
    return sorted(found)

def has_feature(features, name):
    """Whether a list of features contains a feature.

    Args:
        features: list of string, as for `feature_set`.
        name: the feature.

    Returns:
        bool
    """
    return name in feature_set(features)

def _say(features):
    return "\"{}\"".format(",".join(features)) if features else "the default"

def same_mistake(label, what, chosen):
    """What is wrong if targets chose different features.

    Args:
        label: Label of the target that needs them to be the same.
        what: string, the first words after the label, such as "links objects converted with".
        chosen: dict from the Label of a target to its list of features.

    Returns:
        string, or None if the features are the same.
    """
    first = {}
    for target, features in chosen.items():
        first.setdefault(",".join(feature_set(features)), (target, features))
    if len(first) <= 1:
        return None
    return ("{} {} different btf_features: {}; set the same btf_features on all of them, or use " +
            "the flag @rules_btf//rules/settings:btf_features").format(
        label,
        what,
        ", ".join(["{} with {}".format(t, _say(f)) for t, f in first.values()]),
    )

# Rule: features that targets must have in common. Source: pahole parse_btf_features.
def base_mistake(label, features, base, base_features):
    """What is wrong if a target encodes types differently from its base.

    Args:
        label: Label of the target.
        features: list of string, its features.
        base: Label of the base.
        base_features: list of string; None if they are unknown.

    Returns:
        string, or None if both encode types in the same way.
    """
    if base_features == None:
        return None
    mine = [name for name in feature_set(features) if name not in _OWN]
    others = [name for name in feature_set(base_features) if name not in _OWN]
    if mine == others:
        return None
    return ("{} has btf_features {}, but its base {} has {}, so common types would be repeated: " +
            "set the same features for both (distilled_base and global_var may differ)").format(
        label,
        _say(features),
        base,
        _say(base_features),
    )

def distilled_mistake(ctx, features):
    """What is wrong if only the flag turns on distilled_base, which is not meant for all modules.

    Args:
        ctx: context of a rule with CONVERSION_ATTRS that makes the BTF of modules.
        features: list of string, the target's features.

    Returns:
        string, or None.
    """
    own, flag = ctx.attr.btf_features, settings_of(ctx.attr).btf_features
    asked = own and has_feature(own, "distilled_base")
    if (not asked and has_feature(flag, "distilled_base") and
        has_feature(features, "distilled_base")):
        return ("the flag @rules_btf//rules/settings:btf_features turns on distilled_base for " +
                "all modules, but only modules that other builds of the kernel load should have " +
                "it: set btf_features of their module_btf instead")
    return None
