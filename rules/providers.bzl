"""Providers: what the rules tell each other, and what your own rule may read or return."""

BtfObjectsInfo = provider(
    doc = "BTF objects (.btfo): the types of some ELF objects, ready to be merged and linked.",
    fields = {
        "btf_features": """list of string: what the objects were converted with, as
`btfgen object --features` takes it; empty for the tool's default. The facts of a link are extracted
with the same.""",
        "objects": """depset of File: the BTF objects as they were converted, one for each group of
ELF objects (see `grain` of `btf_objects`) and for each archive.""",
        "parts": """depset of struct, or absent: what each of `roots` was converted from, as `root`
(File) and `files` (tuple of string, the paths of the ELF objects). A link takes one of the parts
with the same files.""",
        "root": """File or None: one BTF object that holds all of `objects` merged, when the
target's objects are its own. None when they come from a graph of targets, whose parts other targets
may share.""",
        "roots": """depset of File: BTF objects that together hold each of `objects` exactly once.
This is what a link reads.""",
    },
)

BtfInfo = provider(
    doc = """Linked BTF: the types of vmlinux, or of a module split against the BTF that it builds
upon.""",
    fields = {
        "bases": """depset of File, postorder: the chain of BTF that `btf` is split against,
outermost base first. Empty for vmlinux.""",
        "btf": "File: raw BTF in canonical order; of `btf_import` in the order that it came in.",
        "btf_features": """list of string or None: what it was made with; None of `btf_import`,
which doesn't know.""",
        "index": """File or None: the index of `btf`, which links of split BTF read in place of it.
None if `btf` is based on a distilled base.""",
        "indices": """depset of File, postorder: the indices of `bases`. Empty for vmlinux.""",
        "distilled": """bool: whether `btf` is based on a distilled base, the only one in `bases`,
and
has no kernel's ids.""",
        "extra": """File or None: raw BTF of the variables that are not per CPU, which is based on
`btf` (`variables = "separate"`).""",
        "skipped": """File or None: text, one line for each function or variable that was left out
and why.""",
    },
)

BtfModulesInfo = provider(
    doc = "The linked BTF of many modules that are based on the same BTF.",
    fields = {
        "bases": "depset of File, postorder: the chain of BTF that they are based on.",
        "btfs": """depset of File: raw BTF of the modules, each named for its module, and
directories of that.""",
        "indices": "depset of File, postorder: the indices of `bases`.",
        "modules": """list of struct: one for each module that is its own file, with `name`
(string), `module` (File, the linked module), `btf` and `skipped` (File), `extra` (File or None),
split BTF on `btf` of the variables that are not per CPU, and `embedded` (File or None), the module
with its BTF.""",
        "shared": """File or None: the last of `bases`, with the types that several of the modules
hold; only if `shared_base` is set.""",
    },
)

BtfToolchainInfo = provider(
    doc = "The tools that the actions run.",
    fields = {
        "btfdedup": "FilesToRunProvider: merges, links, compares and checks BTF.",
        "btfgen": "FilesToRunProvider: turns ELF with DWARF into BTF objects and link facts.",
        "btfrepro": "FilesToRunProvider or None: compares two builds; for btf_repro_test alone.",
        "runfiles": "dict from the executable of a tool that tests run to its runfiles.",
    },
)

BtfCcInfo = provider(
    doc = "What btf_cc_aspect found on a target and below it.",
    fields = {
        "libraries": """depset of struct: what a link reads that the target does itself, as a
cc_binary: one for each library or file, with `label` (Label, its owner), `files` (tuple of File,
its objects, or its archive if it has none), `archives` (tuple of File, each with all of that).""",
        "linker_inputs": """depset of LinkerInput: what a link reads that has the target among its
libraries.""",
        "targets": """depset of struct, postorder, one for each target that has ELF objects of its
own, whether they are linked or not: `label` (Label), `libraries` (tuple of struct, as above, with
the objects), `dwos` (tuple of File, their .dwo files), `objects` (tuple of File, their BTF
objects), `root` (File, these merged).""",
    },
)
