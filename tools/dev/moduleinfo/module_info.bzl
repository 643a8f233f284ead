"""Records the Go modules from which a program was built, so that `go version -m` shows them.

The Go command writes this record into programs, but rules_go doesn't. So an aspect collects the
module versions that Bazel has resolved, from the package URLs in gazelle's repositories.
"""

_PackageUrlsInfo = provider(
    doc = "Package URLs of a target's dependencies.",
    fields = {"urls": "depset of string"},
)

_ATTRS = ["applicable_licenses", "deps", "embed", "package_metadata"]

def _package_urls_impl(_target, ctx):
    attr = ctx.rule.attr
    direct = [attr.purl] if getattr(attr, "purl", None) else []
    transitive = []
    for name in _ATTRS:
        for dep in getattr(attr, name, None) or []:
            if type(dep) == "Target" and _PackageUrlsInfo in dep:
                transitive.append(dep[_PackageUrlsInfo].urls)
    return [_PackageUrlsInfo(urls = depset(direct, transitive = transitive))]

_package_urls = aspect(
    implementation = _package_urls_impl,
    attr_aspects = _ATTRS,
)

def _pure_impl(_settings, _attr):
    return {"@rules_go//go/config:pure": True, "@rules_go//go/config:static": True}

# The aspect visits the library in the configuration of the program: without cgo, which would need a
# C toolchain.
_pure = transition(
    implementation = _pure_impl,
    inputs = [],
    outputs = ["@rules_go//go/config:pure", "@rules_go//go/config:static"],
)

# The Go linker and runtime/debug expect, but ignore, 16 bytes before and after the text.
_MARK = "module info ----"

_GO = "pkg:golang/"

def _module_info_impl(ctx):
    own_version = "v" + ctx.attr.version if ctx.attr.version else "(devel)"
    lines = [
        "path\t" + ctx.attr.path,
        "mod\t{}\t{}\t".format(ctx.attr.module, own_version),
    ]
    urls = ctx.attr.library[0][_PackageUrlsInfo].urls.to_list()
    for url in sorted(urls):
        if url.startswith(_GO):
            path, _, version = url[len(_GO):].partition("@")
            lines.append("dep\t{}\t{}\t".format(path, version))
    text = _MARK + "\n".join(lines) + "\n" + _MARK
    return [platform_common.TemplateVariableInfo({"GO_MODULE_INFO": text})]

module_info = rule(
    implementation = _module_info_impl,
    doc = """Makes the variable `GO_MODULE_INFO` for the `x_defs` of a `go_binary`:
`"runtime.modinfo": "$(GO_MODULE_INFO)"`. Its value depends only on the versions of modules.""",
    attrs = {
        "library": attr.label(
            doc = "The `go_library` that the program embeds.",
            aspects = [_package_urls],
            cfg = _pure,
            mandatory = True,
        ),
        "module": attr.string(doc = "The program's module.", mandatory = True),
        "path": attr.string(doc = "The program's import path.", mandatory = True),
        "version": attr.string(doc = "The version of the program's module, without v."),
        "_allowlist_function_transition": attr.label(
            default = "@bazel_tools//tools/allowlists/function_transition_allowlist",
        ),
    },
)
