"""Repositories with the tools of a release, for the extension `btf`."""

# The platforms for which a release has tools (tools/dev/release), with their constraints.
PLATFORMS = {
    "linux-amd64": ["@platforms//os:linux", "@platforms//cpu:x86_64"],
    "linux-arm64": ["@platforms//os:linux", "@platforms//cpu:aarch64"],
}

DEFAULT_URLS = [
    "https://github.com/rules-btf/rules_btf/releases/download/v{version}/" +
    "rules_btf-{version}-{platform}.tar.gz",
]

_TOOLS = """\
load("{toolchain_bzl}", "btf_toolchain")

btf_toolchain(
    name = "tools",
    btfcore = "btfcore",
    btfdedup = "btfdedup",
    btfgen = "btfgen",
    btfrepro = "btfrepro",
    visibility = ["//visibility:public"],
)

exports_files(["pahole"])
"""

def _unpack(ctx, archive, urls, sha256):
    """Unpacks a release's archive: a file in a workspace (Label), or None for a download."""
    if archive:
        ctx.extract(archive)
    else:
        ctx.download_and_extract(url = urls, sha256 = sha256)

def _btf_tools_impl(ctx):
    _unpack(ctx, ctx.attr.archive, ctx.attr.urls, ctx.attr.sha256)
    ctx.file("BUILD.bazel", _TOOLS.format(toolchain_bzl = str(Label("//rules:toolchain.bzl"))))
    if hasattr(ctx, "repo_metadata"):
        return ctx.repo_metadata(reproducible = True)
    return None

btf_tools = repository_rule(
    implementation = _btf_tools_impl,
    doc = "The tools of a release for one platform.",
    attrs = {
        "archive": attr.label(allow_single_file = True),
        "sha256": attr.string(),
        "urls": attr.string_list(),
    },
)

_TOOLCHAIN = """
toolchain(
    name = "{platform}",
    exec_compatible_with = {constraints},
    toolchain = "@btf_tools_{repo}//:tools",
    toolchain_type = "{type}",
)
"""

# This package is separate, so that it isn't loaded with the toolchains. An action that runs pahole
# builds it for the execution platform. For the alias, that is the target platform, so the alias
# selects the program by the target platform.
_PAHOLE_PLATFORM = """\
config_setting(
    name = "{platform}",
    constraint_values = {constraints},
)

"""

_PAHOLE = """\
alias(
    name = "pahole",
    actual = select({programs}),
    visibility = ["//visibility:public"],
)
"""

_BAZEL = """\
\"\"\"What the rules need to know about this version of Bazel.\"\"\"

FAIL = {fail}
"""

def fail_arguments(bazel):
    """The arguments for `fail` with which a version of Bazel prints no traceback: dict."""
    numbers = [int(part) for part in bazel.split(".")[:2] if part.isdigit()]
    return {"stack_trace": False} if len(numbers) == 2 and numbers >= [9, 1] else {}

def _btf_toolchains_impl(ctx):
    # The tools of each platform are in a separate repository, so that they are downloaded only if
    # Bazel chooses their toolchain.
    text = "".join([
        _TOOLCHAIN.format(
            constraints = PLATFORMS[platform],
            platform = platform,
            repo = platform.replace("-", "_"),
            type = str(Label("//rules/toolchain:toolchain_type")),
        )
        for platform in ctx.attr.platforms
    ])
    ctx.file("BUILD.bazel", "exports_files([\"bazel.bzl\"])\n" + text)
    ctx.file("bazel.bzl", _BAZEL.format(fail = repr(fail_arguments(ctx.attr.bazel))))
    programs = {
        ":" + platform: "@btf_tools_{}//:pahole".format(platform.replace("-", "_"))
        for platform in ctx.attr.platforms
    }
    programs["//conditions:default"] = str(Label("//tools/pahole"))
    text = "".join([
        _PAHOLE_PLATFORM.format(constraints = PLATFORMS[platform], platform = platform)
        for platform in ctx.attr.platforms
    ])
    ctx.file("pahole/BUILD.bazel", text + _PAHOLE.format(programs = programs))
    if hasattr(ctx, "repo_metadata"):
        return ctx.repo_metadata(reproducible = True)
    return None

btf_toolchains = repository_rule(
    implementation = _btf_toolchains_impl,
    doc = """Toolchains with the tools of a release, one for each platform; the pahole of the release;
and bazel.bzl, which the rules load.""",
    attrs = {
        "bazel": attr.string(doc = "The version of Bazel."),
        "platforms": attr.string_list(mandatory = True),
    },
)

_ARCHITECTURES = {"aarch64": "arm64", "amd64": "amd64", "arm64": "arm64", "x86_64": "amd64"}

def _btf_kbuild_impl(ctx):
    platform = "{}-{}".format(ctx.os.name, _ARCHITECTURES.get(ctx.os.arch, ctx.os.arch))
    archives = [label for label, of in ctx.attr.archives.items() if of == platform]
    sha256 = ctx.attr.sha256.get(platform)
    if archives or sha256:
        urls = [url.replace("{platform}", platform) for url in ctx.attr.urls]
        _unpack(ctx, archives[0] if archives else None, urls, sha256)
    else:
        # The label is not an attribute, because Bazel fetches the labels of attributes even if they
        # aren't used.
        ctx.symlink(Label("@rules_btf_kbuild_generate//:generate"), "btfkbuild")
    ctx.file("BUILD.bazel", "exports_files([\"btfkbuild\"])\n")

btf_kbuild = repository_rule(
    implementation = _btf_kbuild_impl,
    doc = """The command that reads trees built by Kbuild, for repository rules. It is built from
source, unless a release has a build for this machine.""",
    attrs = {
        "archives": attr.label_keyed_string_dict(allow_files = True),
        "sha256": attr.string_dict(),
        "urls": attr.string_list(),
    },
)
