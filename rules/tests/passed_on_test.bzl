"""What rules do with the outputs of a target with BtfInfo: a table.

A rule whose output takes the place of such a target passes on each of its outputs, puts it into its
own output, or fails. The other rules read the types.
"""

load("@bazel_skylib//lib:unittest.bzl", "analysistest", "asserts")
load("@bazel_skylib//rules:write_file.bzl", "write_file")
load(
    "//rules:defs.bzl",
    "BtfInfo",
    "BtfModulesInfo",
    "BtfObjectsInfo",
    "btf_archive",
    "btf_embed",
    "btf_import",
    "btf_section_object",
    "module_btf",
    "modules_btf",
    "vmlinux_btf",
    "vmlinux_h",
)
load(":common.bzl", "elf_inputs", "failure_test", "names", "only_action")

_GROUPS = ["base", "distilled_base", "extra", "facts", "inline", "skipped"]

def _passed_on_impl(ctx):
    env = analysistest.begin(ctx)
    target = analysistest.target_under_test(env)
    asserts.equals(env, sorted(ctx.attr.reads), elf_inputs(only_action(env, ctx.attr.mnemonic)))
    if not ctx.attr.groups and BtfInfo not in target:
        return analysistest.end(env)
    groups = target[OutputGroupInfo]
    got = {
        name: names(getattr(groups, "btf_" + name, depset()).to_list())
        for name in _GROUPS
    }
    asserts.equals(env, ctx.attr.groups, {name: files for name, files in got.items() if files})

    # The provider has the same files.
    info = target[BtfInfo]
    asserts.equals(env, ctx.attr.btf, info.btf.basename)
    for field, group in {"extra": "extra", "index": "base", "inline": "inline"}.items():
        file = getattr(info, field)
        asserts.equals(env, got[group], [file.basename] if file else [], field)
    asserts.true(env, info.skipped == None or info.skipped.basename in got["skipped"])
    asserts.equals(env, bool(got["distilled_base"]), info.distilled)
    if info.distilled:
        asserts.equals(env, got["distilled_base"], names(info.bases.to_list()))
    return analysistest.end(env)

_passed_on_test = analysistest.make(
    _passed_on_impl,
    attrs = {
        "btf": attr.string(),
        "groups": attr.string_list_dict(),
        "mnemonic": attr.string(),
        "reads": attr.string_list(),
    },
)

_NO_EMBED = "has extra BTF, but btf_embed may change the BTF on which it is based: use a target"
_NO_ARCHIVE = "has extra BTF, but the kernel doesn't show such BTF in /sys/kernel/btf, so an"

_embed_extra_test = analysistest.make(failure_test(_NO_EMBED), expect_failure = True)
_archive_extra_test = analysistest.make(failure_test(_NO_ARCHIVE), expect_failure = True)
_base_test = analysistest.make(
    failure_test("p_own can't be a base: its BtfInfo has no index"),
    expect_failure = True,
)
_FAILURES = {"archive": _archive_extra_test, "embed": _embed_extra_test, "import": _base_test}

def _own_impl(ctx):
    """A user's rule, which sets only the mandatory fields."""
    files = depset(ctx.files.srcs)
    return [
        DefaultInfo(files = files),
        BtfInfo(btf = ctx.files.srcs[0]),
        BtfModulesInfo(bases = depset([ctx.files.srcs[0]]), btfs = files),
        BtfObjectsInfo(objects = files),
    ]

_own = rule(
    implementation = _own_impl,
    attrs = {"srcs": attr.label_list(allow_files = True)},
)

def _sources():
    """Declares the targets with BtfInfo."""
    kernel = "passed_on/vmlinux.elf"
    ko = "passed_on/disk.ko"
    with_variables = ["default", "global_var"]
    vmlinux_btf(name = "p_inline", inline = True, tags = ["manual"], vmlinux = kernel)
    vmlinux_btf(
        name = "p_extra",
        btf_features = with_variables,
        tags = ["manual"],
        variables = "separate",
        vmlinux = kernel,
    )
    _own(name = "p_own", srcs = ["passed_on/own.btf"], tags = ["manual"])
    btf_import(name = "p_import", src = kernel, tags = ["manual"])
    module_btf(
        name = "p_module",
        base = ":p_import",
        inline = True,
        module = ko,
        tags = ["manual"],
    )
    module_btf(
        name = "p_distilled",
        base = ":p_import",
        btf_features = ["default", "distilled_base"],
        inline = True,
        module = ko,
        tags = ["manual"],
    )
    module_btf(
        name = "p_module_extra",
        base = ":p_import",
        btf_features = with_variables,
        module = ko,
        tags = ["manual"],
        variables = "separate",
    )
    modules_btf(
        name = "p_modules_extra",
        base = ":p_import",
        btf_features = with_variables,
        modules = [ko],
        tags = ["manual"],
        variables = "separate",
    )

def _skipped(name, *more):
    return sorted([name + part + ".skipped" for part in more + ("",)])

# For each rule: the mnemonic of its action, and for each source what the
# action reads, and the output groups without btf_. None: the source is an error.
_TABLE = {
    "embed": ("BtfEmbed", {
        "p_distilled": (["disk.ko", "p_distilled.base.btf", "p_distilled.btf"] +
                        ["p_distilled.inline.btf"], {
            "distilled_base": ["p_distilled.base.btf"],
            "facts": ["p_distilled.facts"],
            "inline": ["NAME.embedded.inline.btf"],
            "skipped": _skipped("p_distilled", ".inline"),
        }),
        "p_extra": None,
        "p_import": (["disk.ko", "p_import.btf"], {"base": ["NAME.embedded.btfbase"]}),
        "p_inline": (["disk.ko", "p_inline.btf", "p_inline.inline.btf"], {
            "base": ["NAME.embedded.btfbase"],
            "facts": ["p_inline.facts"],
            "inline": ["NAME.embedded.inline.btf"],
            "skipped": _skipped("p_inline", ".inline"),
        }),
        "p_module": (["disk.ko", "p_import.btf", "p_module.btf", "p_module.inline.btf"], {
            "base": ["NAME.embedded.btfbase"],
            "facts": ["p_module.facts"],
            "inline": ["NAME.embedded.inline.btf"],
            "skipped": _skipped("p_module", ".inline"),
        }),
        "p_module_extra": None,
        "p_own": (["disk.ko", "own.btf"], {"base": ["NAME.embedded.btfbase"]}),
    }),
    "section": ("BtfEmbed", {
        "p_extra": (["disk.ko", "p_extra.btf"], {
            "base": ["p_extra.btfbase"],
            "extra": ["p_extra-btf-extra.btf"],
            "facts": ["p_extra.facts"],
            "skipped": _skipped("p_extra", "-btf-extra"),
        }),
        "p_import": (["disk.ko", "p_import.btf"], {"base": ["p_import.btfbase"]}),
        "p_inline": (["disk.ko", "p_inline.btf"], {
            "base": ["p_inline.btfbase"],
            "facts": ["p_inline.facts"],
            "inline": ["p_inline.inline.btf"],
            "skipped": _skipped("p_inline", ".inline"),
        }),
    }),
    "archive": ("BtfArchive", {
        "p_embed_p_inline": (["p_embed_p_inline.embedded.btf"] +
                             ["p_embed_p_inline.embedded.inline.btf"], {}),
        "p_extra": None,
        "p_inline": (["p_inline.btf", "p_inline.inline.btf"], {}),
        "p_own": (["own.btf"], {}),
        "p_section_p_inline": (["p_inline.btf", "p_inline.inline.btf"], {}),
    }),
    "archive_of": ("BtfArchive", {
        "p_distilled": (["p_distilled.base.btf", "p_distilled.btf", "p_distilled.inline.btf"] +
                        ["p_import.btf"], {}),
        "p_embed_p_module": (["p_embed_p_module.embedded.btf"] +
                             ["p_embed_p_module.embedded.inline.btf", "p_import.btf"], {}),
        "p_module": (["p_import.btf", "p_module.btf", "p_module.inline.btf"], {}),
        "p_module_extra": None,
        "p_modules_extra": None,
    }),
    # These rules read the types. They don't take the place of the target.
    "header": ("BtfHeader", {
        "p_extra": (["p_extra.btf"], {}),
        "p_inline": (["p_inline.btf"], {}),
        "p_own": (["own.btf"], {}),
    }),
    "import": ("BtfImport", {
        "p_embed_p_inline": (["disk.ko", "p_embed_p_inline.embedded.btf"], {
            "base": ["NAME.btfbase"],
        }),
        "p_extra": (["disk.ko", "p_extra.btf"], {"base": ["NAME.btfbase"]}),
        "p_own": None,
    }),
    "vmlinux": ("BtfLink", {"p_own": (["own.btf"], {
        "base": ["NAME.btfbase"],
        "skipped": ["NAME.skipped"],
    })}),
}

def _declare(kind, name, source):
    source = ":" + source
    ko = "passed_on/disk.ko"
    if kind == "embed":
        btf_embed(name = name, src = ko, btf = source, tags = ["manual"])
    elif kind == "section":
        btf_section_object(name = name, btf = source, machine_of = ko, tags = ["manual"])
    elif kind == "archive":
        btf_archive(name = name, release = "7.4.0", tags = ["manual"], vmlinux = source)
    elif kind == "archive_of":
        btf_archive(
            name = name,
            modules = [source],
            release = "7.4.0",
            tags = ["manual"],
            vmlinux = ":p_import",
        )
    elif kind == "header":
        vmlinux_h(name = name, btf = source, tags = ["manual"])
    elif kind == "vmlinux":
        vmlinux_btf(name = name, srcs = [source], tags = ["manual"])
    else:
        btf_import(name = name, src = ko, base = source, tags = ["manual"])

def passed_on_suite(name):
    """Declares the tests.

    Args:
        name: name of the test suite.
    """
    for file in ["vmlinux.elf", "disk.ko", "own.btf"]:
        write_file(name = "passed_on_" + file, out = "passed_on/" + file, content = [])
    _sources()
    tests = []
    for kind, (mnemonic, sources) in _TABLE.items():
        for source, cell in sources.items():
            target = "p_{}_{}".format(kind, source)
            _declare(kind, target, source)
            test = target + "_test"
            tests.append(":" + test)
            if not cell:
                _FAILURES[kind.removesuffix("_of")](name = test, target_under_test = ":" + target)
                continue
            reads, groups = cell
            btf = {
                "embed": target + ".embedded.btf",
                "import": target + ".btf",
                "vmlinux": target + ".btf",
            }
            _passed_on_test(
                name = test,
                btf = btf.get(kind, source + ".btf"),
                groups = {
                    group: [file.replace("NAME", target) for file in files]
                    for group, files in groups.items()
                },
                mnemonic = mnemonic,
                reads = reads,
                target_under_test = ":" + target,
            )
    native.test_suite(name = name, tests = tests)
