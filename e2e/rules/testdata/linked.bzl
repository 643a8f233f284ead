"""Rules that forward libraries to a link. Users write such rules."""

load("@bazel_skylib//rules:common_settings.bzl", "string_flag")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

variant_flag = string_flag

def _variant_impl(_settings, attr):
    return {"//:variant": attr.variant}

_variant = transition(implementation = _variant_impl, inputs = [], outputs = ["//:variant"])

def _in_variant_impl(ctx):
    dep = ctx.attr.dep[0]
    found = [dep[CcInfo]] if CcInfo in dep else []
    return found + [DefaultInfo(files = dep[DefaultInfo].files)]

# Builds a target with a different value of the flag //:variant.
in_variant = rule(
    implementation = _in_variant_impl,
    attrs = {
        "dep": attr.label(allow_files = True, cfg = _variant, mandatory = True),
        "variant": attr.string(),
    },
)

def _forward_impl(ctx):
    return [ctx.attr.library[CcInfo]]

# Forwards a library through an attribute whose name no other rule uses.
forward = rule(
    implementation = _forward_impl,
    attrs = {"library": attr.label(mandatory = True)},
)

def _adopt_impl(ctx):
    merged = cc_common.merge_cc_infos(direct_cc_infos = [dep[CcInfo] for dep in ctx.attr.deps])
    return [CcInfo(
        compilation_context = merged.compilation_context,
        linking_context = cc_common.create_linking_context(
            linker_inputs = depset([cc_common.create_linker_input(
                owner = ctx.label,
                libraries = depset([
                    library
                    for linker_input in merged.linking_context.linker_inputs.to_list()
                    for library in linker_input.libraries
                ]),
            )]),
        ),
    )]

# Forwards libraries as if they belonged to the target that forwards them.
adopt = rule(
    implementation = _adopt_impl,
    attrs = {"deps": attr.label_list(providers = [CcInfo])},
)

def _tree_impl(ctx):
    directory = ctx.actions.declare_directory(ctx.label.name)
    command = "for i in 1 2; do echo \"int $1_$i(void) { return $i; }\" >$2/$i.c; done"
    ctx.actions.run_shell(
        outputs = [directory],
        command = command,
        arguments = [ctx.label.name, directory.path],
    )
    return [DefaultInfo(files = depset([directory]))]

# Makes a directory of sources.
tree = rule(implementation = _tree_impl)
