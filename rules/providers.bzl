"""The providers that connect the rules. Your own rules may read and return them."""

_NO_FILES = depset(order = "postorder")

def _objects_info(
        *,
        objects,
        btf_features = None,
        parts = None,
        root = None,
        roots = None):
    return dict(
        btf_features = btf_features,
        objects = objects,
        parts = parts,
        root = root,
        roots = roots or objects,
    )

BtfObjectsInfo, _new_btf_objects_info = provider(
    doc = "BTF objects (.btfo): the types of some ELF objects, ready to be merged and linked.",
    fields = {
        "btf_features": """list of string: the features of the objects, as for
`btfgen object --features`; empty for the tool's default. The facts of a link must have the same
features. None, the default, if they are unknown.""",
        "objects": """depset of File: a BTF object for each group of ELF objects (see `grain` of
`btf_objects`) and for each archive.""",
        "parts": """depset of struct, or None, the default: for each of `roots`, `root` (File) and
`files` (tuple of string, the paths of its ELF objects). If several parts have the same files, a
link takes one of them.""",
        "root": """File or None: all of `objects`, merged, if only this target has them. None, the
default, if `objects` come from a graph of targets, because other targets may share parts of that
graph.""",
        "roots": """depset of File: BTF objects that together hold each of `objects` exactly once. A
link reads these. The default is `objects`.""",
    },
    init = _objects_info,
)

def _btf_info(
        *,
        btf,
        bases = _NO_FILES,
        btf_features = None,
        distilled = False,
        extra = None,
        index = None,
        indices = _NO_FILES,
        inline = None,
        old_base = None,
        skipped = None):
    return dict(
        bases = bases,
        btf = btf,
        btf_features = btf_features,
        distilled = distilled,
        extra = extra,
        index = index,
        indices = indices,
        inline = inline,
        old_base = old_base,
        skipped = skipped,
    )

BtfInfo, _new_btf_info = provider(
    doc = """Linked BTF: the types of vmlinux, or the split BTF of a module. Only `btf` is
mandatory; to be a base, BTF also needs `index` and, if it has `bases`, `indices`.""",
    fields = {
        "bases": """depset of File, postorder: the chain of BTF that `btf` is based on, the
kernel's BTF first. Empty for vmlinux.""",
        "btf": "File: raw BTF in canonical order; for `btf_import` in its original order.",
        "btf_features": "list of string or None: the features of `btf`; None for `btf_import`.",
        "index": """File or None: the index of `btf`; a link of split BTF reads it in place of
`btf`. None if `btf` is based on a distilled base, and if it can't be a base.""",
        "indices": """depset of File, postorder: the indices of `bases`. Empty for vmlinux.""",
        "distilled": """bool: whether `btf` is based on a distilled base, which is then the only
file in `bases`. The ids in such BTF belong to no kernel.""",
        "old_base": """File or None: the BTF that the linked vmlinux already had; an empty file if
it had none. The ids in modules that Kbuild has finished refer to this BTF. None for
`btf_import`.""",
        "extra": """File or None: raw BTF of the variables that are not per-CPU variables, based on
`btf` (`variables = "separate"`).""",
        "inline": """File or None: raw BTF of the sites where functions were inlined, based on `btf`
(`inline = True`).""",
        "skipped": """File or None: a text file with a line for each function or variable that was
left out, with the reason.""",
    },
    init = _btf_info,
)

def _modules_info(
        *,
        bases,
        btfs,
        extras = _NO_FILES,
        indices = _NO_FILES,
        inlines = _NO_FILES,
        modules = []):
    return dict(
        bases = bases,
        btfs = btfs,
        extras = extras,
        indices = indices,
        inlines = inlines,
        modules = modules,
    )

BtfModulesInfo, _new_btf_modules_info = provider(
    doc = """The linked BTF of many modules that are based on the same BTF. Only `bases` and `btfs`
are mandatory.""",
    fields = {
        "bases": "depset of File, postorder: the chain of BTF that the modules are based on.",
        "btfs": """depset of File: raw BTF of the modules, each named after its module, or
directories of such files.""",
        "extras": """depset of File: raw BTF of the variables that are not per-CPU variables, each
based on the module's BTF and named `MODULE-btf-extra.btf`, or directories of such files.""",
        "indices": "depset of File, postorder: the indices of `bases`.",
        "inlines": """depset of File: raw BTF of the sites where functions were inlined, each based
on the module's BTF and named `MODULE.inline.btf`, or directories of such files.""",
        "modules": """list of struct, one for each module that is a file: `name` (string), `module`
(File, the linked module), `btf` and `skipped` (File), `extra` (File or None, split BTF based
on `btf` with the variables that are not per-CPU variables), `inline` (File or None, split BTF based
on `btf` with the sites of inlined functions), `embedded` (File or None, the module
with its BTF).""",
    },
    init = _modules_info,
)

BpfNeedsInfo = provider(
    doc = "What BPF programs need from a kernel.",
    fields = {"needs": "File: the needs, without code, as `btfcore needs` writes them."},
)

BtfMinInfo = provider(
    doc = "Minimal BTF: only the parts of kernels' BTF that certain BPF programs need.",
    fields = {
        "btfs": """depset of File: raw BTF, `NAME/KERNEL.btf` for each kernel, or directories of
such files.""",
        "hooks": "bool: whether `btfs` have the functions, variables and types that programs name.",
        "needs": "depset of File: the needs for which `btfs` were made.",
        "root": """string: the directory `NAME` among the runfiles. The name of a kernel is the
path of its file below that directory, without `.btf`.""",
        "split": "bool: whether modules have their own files, based on the kernel's BTF.",
    },
)

BtfToolchainInfo = provider(
    doc = "The tools that the actions run.",
    fields = {
        "btfcore": """FilesToRunProvider or None: reads what BPF programs need, and makes minimal
BTF, for bpf_needs, btf_min and btf_core_test.""",
        "btfdedup": "FilesToRunProvider: merges, links, compares and checks BTF.",
        "btfgen": "FilesToRunProvider: turns ELF with DWARF into BTF objects and link facts.",
        "btfrepro": "FilesToRunProvider or None: compares two builds, for btf_repro_test.",
        "runfiles": "dict from the executable of each tool to the tool's runfiles.",
    },
)

BtfCcInfo = provider(
    doc = """What `btf_cc_aspect` found in a target and its dependencies. `cc_btf` finds out from it
which `targets` a link reads.""",
    fields = {
        "libraries": """depset of struct: the files that a target with its own link, such as a
cc_binary, compiles or has in `srcs`. For each library or file: `label` (Label, its owner), `files`
(tuple of File, its objects, or its archive if it has none), `archives` (tuple of File, each of
which contains the whole library).""",
        "linker_inputs": """depset of LinkerInput: the inputs that the target adds to a link as a
library.""",
        "links": """depset of struct: the target's own link: `linker_inputs` (depset of LinkerInput,
of which the link reads some or all) and `inputs` (depset of File, all that the link reads).""",
        "objects": """depset of File: the BTF objects of all `targets`, as in the output group
`btf_objects`.""",
        "targets": """depset of struct, postorder, one for each target with its own ELF objects,
linked or not: `label` (Label), `libraries` (tuple of struct, as above, with the ELF objects),
`dwos` (tuple of File, the .dwo files), `objects` (tuple of File, the BTF objects), `root` (File,
the merge of the BTF objects), `part` (struct, as in the field `parts` of BtfObjectsInfo).""",
    },
)
