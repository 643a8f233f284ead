"""A module extension for the tools: from a release, or built from source with the Go command.

If rules_btf comes from a registry, MODULE.bazel needs no line for this. To download the tools from
a mirror, add:

```starlark
btf = use_extension("@rules_btf//rules:extensions.bzl", "btf")
btf.toolchain(urls = ["https://mirror.example.com/rules_btf-{version}-{platform}.tar.gz"])
```
"""

load(
    "//rules/private:prebuilt.bzl",
    "DEFAULT_URLS",
    "PLATFORMS",
    "RELEASED",
    "btf_kbuild",
    "btf_toolchains",
    "btf_tools",
)
load("//rules/private:release.bzl", "SHA256", "VERSION")

def _check(urls, sums, archives):
    """Fails with a message that says what to write, unless the values of a tag are right."""
    known = ", ".join(RELEASED)
    platforms = {}
    for archive, platform in archives.items():
        if platform not in RELEASED:
            fail(("btf.toolchain: archives: {} is for unknown platform {}; " +
                  "the platforms are {}").format(archive, platform, known))
        if platforms.setdefault(platform, archive) != archive:
            fail("btf.toolchain: archives has several archives for {}; remove one".format(platform))
    for platform, sum in sums.items():
        if platform not in RELEASED:
            fail("btf.toolchain: sha256 of unknown platform {}; the platforms are {}".format(
                platform,
                known,
            ))
        if len(sum) != 64 or sum.lower().strip("0123456789abcdef"):
            fail("btf.toolchain: sha256 of {}: expected 64 hexadecimal digits, not {}".format(
                platform,
                repr(sum),
            ))
    for url in urls:
        if "{platform}" not in url and len(sums) > 1:
            fail(("btf.toolchain: sha256 has several platforms, so the URL {} needs " +
                  "{{platform}}").format(url))

# Rule: tools of a release, for workspaces that take it from a registry.
def _btf_impl(ctx):
    # The root module chooses the tools. The repositories btf_toolchains and btf_kbuild must always
    # exist: MODULE.bazel registers the toolchains, and kbuild_tree uses btf_kbuild.
    tags = [tag for module in ctx.modules if module.is_root for tag in module.tags.toolchain]
    if len(tags) > 1:
        fail("btf.toolchain: {} tags in the root module; at most one is allowed".format(len(tags)))
    version, sums, urls, archives, go = VERSION, SHA256, DEFAULT_URLS, {}, None
    for tag in tags:
        if tag.archives and (tag.version or tag.sha256):
            fail("btf.toolchain: archives are files, so version and sha256 must not be set")
        if bool(tag.version) != bool(tag.sha256):
            fail("btf.toolchain: set both version and sha256, or neither")
        if not (tag.version or tag.archives or tag.go or VERSION):
            fail("btf.toolchain: set version and sha256 (see the release's SHA256SUMS), " +
                 "archives, or go, because this rules_btf is a checkout and not a release")
        version, urls, archives, go = tag.version or VERSION, tag.urls, tag.archives, tag.go
        sums = {} if archives else tag.sha256 or SHA256
        _check(urls, sums, archives)
    sums = {platform: sha256.lower() for platform, sha256 in sums.items()}
    urls = [url.replace("{version}", version) for url in urls]
    archive_of = {platform: archive for archive, platform in archives.items()}
    for platform in PLATFORMS:
        btf_tools(
            name = "btf_tools_" + platform.replace("-", "_"),
            archive = archive_of.get(platform),
            go = go,
            platform = platform,
            sha256 = sums.get(platform),
            urls = [url.replace("{platform}", platform) for url in urls],
        )
    btf_toolchains(name = "btf_toolchains")
    btf_kbuild(name = "btf_kbuild", archives = archives, go = go, sums = sums, urls = urls)
    return ctx.extension_metadata(reproducible = True)

_toolchain = tag_class(
    doc = """Chooses the release whose tools are used, and where they come from. They are downloaded
when an action first needs them. Without this tag, they are the tools of the release that rules_btf
belongs to; if rules_btf is a checkout, they are built from source, with the `go` on PATH.""",
    attrs = {
        "archives": attr.label_keyed_string_dict(
            doc = """Instead of `version`, `sha256` and `urls`: archives of a release that are files
in the workspace, each with its platform. Then no tools are downloaded.""",
            allow_files = True,
        ),
        "go": attr.label(
            doc = """The Go command that builds tools from source, such as
`@go_sdk//:bin/go` of rules_go. If it has another version than go.mod names, it downloads that
version. The default is the `go` on PATH.""",
            allow_single_file = True,
        ),
        "sha256": attr.string_dict(
            doc = """The checksum of the archive for each platform that runs actions: `linux-amd64`,
`linux-arm64`. For other platforms the tools are built from source. The default is the checksums of
the release that rules_btf belongs to.""",
        ),
        "urls": attr.string_list(
            doc = """URLs of the archive, for example `file:///…` or a mirror, tried in order.
`{version}` and `{platform}` are placeholders. The default is the project's releases.""",
            default = DEFAULT_URLS,
        ),
        "version": attr.string(
            doc = """The release's version, without `v`. The default is the release that rules_btf
belongs to.""",
        ),
    },
)

btf = module_extension(
    implementation = _btf_impl,
    doc = "Chooses the tools.",
    tag_classes = {"toolchain": _toolchain},
)
