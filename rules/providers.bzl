"""Providers, which connect the rules, and which your own rules may read or return."""

BtfObjectsInfo = provider(
    doc = "BTF objects (.btfo): the types of some ELF objects, ready to be merged and linked.",
    fields = {
        "btf_features": """list of string: the features of the objects, as for
`btfgen object --features`; empty for the tool's default. Facts of a link have the same.""",
        "objects": """depset of File: a BTF object for each group of ELF objects (see `grain` of
`btf_objects`) and for each archive.""",
        "parts": """depset of struct, or absent: for each of `roots`, `root` (File) and `files`
(tuple of string, the paths of its ELF objects). Of parts with the same files, a link takes one.""",
        "root": """File or None: all of `objects` merged, if they are the target's own. None if they
come from a graph of targets, whose parts other targets may share.""",
        "roots": """depset of File: BTF objects that together hold each of `objects` exactly once. A
link reads these.""",
    },
)

BtfInfo = provider(
    doc = """Linked BTF: the types of vmlinux, or the split BTF of a module.""",
    fields = {
        "bases": """depset of File, postorder: the chain of BTF that `btf` is based on, outermost
base first. Empty for vmlinux.""",
        "btf": "File: raw BTF in canonical order; of `btf_import` in its original order.",
        "btf_features": "list of string or None: its features; None for `btf_import`.",
        "index": """File or None: the index of `btf`, which links of split BTF read instead. None if
`btf` is based on a distilled base.""",
        "indices": """depset of File, postorder: the indices of `bases`. Empty for vmlinux.""",
        "distilled": """bool: whether `btf` is based on a distilled base, which is then the only one
in `bases`, and so has the ids of no kernel.""",
        "extra": """File or None: raw BTF of the variables that are not per CPU, based on `btf`
(`variables = "separate"`).""",
        "skipped": """File or None: text, a line for each function or variable that was left out,
with the reason.""",
    },
)

BtfModulesInfo = provider(
    doc = "The linked BTF of many modules that are based on the same BTF.",
    fields = {
        "bases": "depset of File, postorder: the chain of BTF that they are based on.",
        "btfs": """depset of File: raw BTF of the modules, each named for its module, or directories
of such files.""",
        "indices": "depset of File, postorder: the indices of `bases`.",
        "modules": """list of struct, one for each module that is a file: `name` (string), `module`
(File, the linked module), `btf` and `skipped` (File), `extra` (File or None, split BTF on `btf` of
the variables that are not per CPU), `embedded` (File or None, the module with its BTF).""",
        "shared": """File or None: the last of `bases`, with the types that several modules hold;
only with `shared_base`.""",
    },
)

BtfToolchainInfo = provider(
    doc = "The tools that the actions run.",
    fields = {
        "btfdedup": "FilesToRunProvider: merges, links, compares and checks BTF.",
        "btfgen": "FilesToRunProvider: turns ELF with DWARF into BTF objects and link facts.",
        "btfrepro": "FilesToRunProvider or None: compares two builds, for btf_repro_test.",
        "runfiles": "dict from the executable of a tool in tests to its runfiles.",
    },
)

BtfCcInfo = provider(
    doc = "What btf_cc_aspect found in a target and its dependencies.",
    fields = {
        "libraries": """depset of struct: the inputs of the target's own link, if it has one, as a
cc_binary has: for each library or file `label` (Label, its owner), `files` (tuple of File, its
objects, or its archive if it has none), `archives` (tuple of File, each with all of that).""",
        "linker_inputs": """depset of LinkerInput: the inputs that the target adds to a link as a
library.""",
        "targets": """depset of struct, postorder, one for each target with its own ELF objects,
linked or not: `label` (Label), `libraries` (tuple of struct, as above, with the objects), `dwos`
(tuple of File, their .dwo files), `objects` (tuple of File, their BTF objects), `root` (File, these
merged).""",
    },
)
