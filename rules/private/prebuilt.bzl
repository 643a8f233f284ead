"""Repositories with the tools, from a release or built from source, for the extension `btf`."""

load(":source.bzl", "build_programs")

# The platforms for which a release has tools (tools/dev/release), with their constraints.
RELEASED = {
    "linux-amd64": ["@platforms//os:linux", "@platforms//cpu:x86_64"],
    "linux-arm64": ["@platforms//os:linux", "@platforms//cpu:aarch64"],
}

# The platforms for which the tools can be built from source. They are named as Go names them.
PLATFORMS = RELEASED | {
    "linux-loong64": ["@platforms//os:linux", "@platforms//cpu:loongarch64"],
    "linux-ppc64le": ["@platforms//os:linux", "@platforms//cpu:ppc64le"],
    "linux-riscv64": ["@platforms//os:linux", "@platforms//cpu:riscv64"],
    "linux-s390x": ["@platforms//os:linux", "@platforms//cpu:s390x"],
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

_PROGRAMS = ["btfcore", "btfdedup", "btfgen", "btfrepro", "pahole"]

def _get(ctx, programs, platform, archive, sha256, urls):
    """Puts programs for a platform into the repository.

    They come from the archive of a release (a Label, or a checksum with URLs), or from source.
    """
    if archive:
        ctx.extract(archive)
    elif sha256:
        ctx.download_and_extract(url = urls, sha256 = sha256)
    else:
        goos, _, goarch = platform.partition("-")
        build_programs(ctx, programs, goos, goarch, ctx.attr.go)

def _reproducible(ctx):
    """The result of a repository rule: what its attributes name always gives the same files."""
    return ctx.repo_metadata(reproducible = True) if hasattr(ctx, "repo_metadata") else None

def _btf_tools_impl(ctx):
    attr = ctx.attr
    _get(ctx, _PROGRAMS, attr.platform, attr.archive, attr.sha256, attr.urls)
    ctx.file("BUILD.bazel", _TOOLS.format(toolchain_bzl = str(Label("//rules:toolchain.bzl"))))
    return _reproducible(ctx)

btf_tools = repository_rule(
    implementation = _btf_tools_impl,
    doc = "The tools for one platform.",
    attrs = {
        "archive": attr.label(allow_single_file = True),
        "go": attr.label(allow_single_file = True),
        "platform": attr.string(doc = "One of PLATFORMS.", mandatory = True),
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

# This package is separate, so that it isn't loaded with the toolchains. If an action runs pahole,
# Bazel configures the alias for the action's execution platform. In this configuration, that is the
# target platform, which select() looks at.
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

def _btf_toolchains_impl(ctx):
    # The tools of each platform are in a separate repository, so that they are downloaded or built
    # only if Bazel chooses their toolchain.
    text = "".join([
        _TOOLCHAIN.format(
            constraints = constraints,
            platform = platform,
            repo = platform.replace("-", "_"),
            type = str(Label("//rules/toolchain:toolchain_type")),
        )
        for platform, constraints in PLATFORMS.items()
    ])
    ctx.file("BUILD.bazel", text)
    programs = {
        ":" + platform: "@btf_tools_{}//:pahole".format(platform.replace("-", "_"))
        for platform in PLATFORMS
    }
    text = "".join([
        _PAHOLE_PLATFORM.format(constraints = constraints, platform = platform)
        for platform, constraints in PLATFORMS.items()
    ])
    ctx.file("pahole/BUILD.bazel", text + _PAHOLE.format(programs = programs))
    return _reproducible(ctx)

btf_toolchains = repository_rule(
    implementation = _btf_toolchains_impl,
    doc = "A toolchain for each platform, and pahole.",
)

_ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}

def _btf_kbuild_impl(ctx):
    platform = "{}-{}".format(
        ctx.os.name.replace("mac os x", "darwin"),
        _ARCHITECTURES.get(ctx.os.arch, ctx.os.arch),
    )
    archives = [label for label, of in ctx.attr.archives.items() if of == platform]
    _get(
        ctx,
        ["btfkbuild"],
        platform,
        archives[0] if archives else None,
        ctx.attr.sums.get(platform),
        [url.replace("{platform}", platform) for url in ctx.attr.urls],
    )
    ctx.file("BUILD.bazel", "exports_files([\"btfkbuild\"])\n")
    return _reproducible(ctx)

btf_kbuild = repository_rule(
    implementation = _btf_kbuild_impl,
    doc = """The command that reads trees built by Kbuild, for this machine, for repository rules.
It is built from source, unless a release has it.""",
    attrs = {
        "archives": attr.label_keyed_string_dict(allow_files = True),
        "go": attr.label(allow_single_file = True),
        "sums": attr.string_dict(),
        "urls": attr.string_list(),
    },
)
