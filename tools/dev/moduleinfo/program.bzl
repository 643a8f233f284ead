"""The macro for our programs."""

load("@rules_go//go:def.bzl", "go_binary")
load(":module_info.bzl", "module_info")

_MODULE = "github.com/rules-btf/rules_btf"

def program(name, embed, visibility = None):
    """A static Go program, optimized with our profile, with information for `go version -m`.

    All programs have the same settings, so their packages are compiled in one configuration. In
    this repository, .bazelrc gives tests these settings, too.

    Args:
        name: The name of the target and the program.
        embed: The `go_library` with the package main.
        visibility: The target's visibility.
    """
    module_info(
        name = "module_info",
        library = embed[0],
        module = _MODULE,
        path = _MODULE + "/" + native.package_name(),
        version = native.module_version(),
    )
    go_binary(
        name = name,
        embed = embed,
        pgoprofile = "//tools/btfgen:default.pgo",
        pure = "on",
        static = "on",
        toolchains = [":module_info"],
        visibility = visibility,
        x_defs = {"runtime.modinfo": "$(GO_MODULE_INFO)"},
    )
