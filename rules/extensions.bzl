"""A module extension for the tools of a release, so that no Go code is built.

```starlark
btf = use_extension("@rules_btf//rules:extensions.bzl", "btf")
btf.toolchain(
    version = "1.2.3",
    sha256 = {"linux-amd64": "…", "linux-arm64": "…"},  # from the release's SHA256SUMS
)
use_repo(btf, "btf_toolchains")

register_toolchains("@btf_toolchains//:all")
```
"""

load(
    "//rules/private:prebuilt.bzl",
    "DEFAULT_URLS",
    "PLATFORMS",
    "btf_kbuild",
    "btf_toolchains",
    "btf_tools",
)

def _check(tag):
    """Fails with a message that says what to write, unless the tag is complete."""
    known = ", ".join(PLATFORMS)
    if bool(tag.sha256) == bool(tag.archives):
        fail(("btf.toolchain: {}; set the checksum of the release's archive for each platform that " +
              "runs actions ({}), or set archives if the archives are files").format(
            "both sha256 and archives are set" if tag.sha256 else "sha256 is empty",
            known,
        ))
    if tag.sha256 and not tag.version:
        fail("btf.toolchain: version is empty; set the version of the release to download")
    platforms = {}
    for archive, platform in tag.archives.items():
        if platform not in PLATFORMS:
            fail("btf.toolchain: archives: {} is for unknown platform {}; the platforms are {}".format(
                archive,
                platform,
                known,
            ))
        if platforms.setdefault(platform, archive) != archive:
            fail("btf.toolchain: archives has several archives for {}; remove one".format(platform))
    for platform, sum in tag.sha256.items():
        if platform not in PLATFORMS:
            fail("btf.toolchain: sha256 of unknown platform {}; the platforms are {}".format(
                platform,
                known,
            ))
        if len(sum) != 64 or sum.lower().strip("0123456789abcdef"):
            fail("btf.toolchain: sha256 of {}: expected 64 hexadecimal digits, not {}".format(
                platform,
                repr(sum),
            ))
    for url in tag.urls:
        if "{platform}" not in url and len(tag.sha256) > 1:
            fail(("btf.toolchain: sha256 has several platforms, so the URL {} needs " +
                  "{{platform}}").format(url))

def _repository(platform):
    """The name of the repository with the tools for a platform."""
    return "btf_tools_" + platform.replace("-", "_")

def _btf_impl(ctx):
    # The root module chooses the tools. The repositories always exist, because other modules may
    # name them.
    tags = [tag for module in ctx.modules if module.is_root for tag in module.tags.toolchain]
    if len(tags) > 1:
        fail("btf.toolchain: {} tags in the root module; at most one is allowed".format(len(tags)))
    archives, sums, urls = {}, {}, []
    for tag in tags:
        _check(tag)
        archives = tag.archives
        sums = {platform: sha256.lower() for platform, sha256 in tag.sha256.items()}
        urls = [url.replace("{version}", tag.version) for url in tag.urls]
    for archive, platform in archives.items():
        btf_tools(name = _repository(platform), archive = archive)
    for platform, sha256 in sums.items():
        btf_tools(
            name = _repository(platform),
            sha256 = sha256,
            urls = [url.replace("{platform}", platform) for url in urls],
        )
    btf_toolchains(name = "btf_toolchains", platforms = sorted(sums.keys() + archives.values()))
    btf_kbuild(name = "btf_kbuild", archives = archives, sha256 = sums, urls = urls)
    return ctx.extension_metadata(reproducible = True)

_toolchain = tag_class(
    doc = """Registers the tools of a release as the toolchain. They are downloaded when an action
first needs them.""",
    attrs = {
        "archives": attr.label_keyed_string_dict(
            doc = """Instead of `sha256`: the archives of a release that are files in the workspace,
each with its platform. Then nothing is downloaded.""",
            allow_files = True,
        ),
        "sha256": attr.string_dict(
            doc = """The checksum of the archive for each platform that runs actions: `linux-amd64`,
`linux-arm64`. On other platforms the tools are built from source.""",
        ),
        "urls": attr.string_list(
            doc = """URLs of the archive, such as a mirror or `file:///…`, tried in order.
`{version}` and `{platform}` are placeholders. The default is the project's releases.""",
            default = DEFAULT_URLS,
        ),
        "version": attr.string(
            doc = "The release's version, without `v`. Needed with `sha256`.",
        ),
    },
)

btf = module_extension(
    implementation = _btf_impl,
    doc = """Uses the tools of a release, so that a workspace makes BTF without building them from
source.""",
    tag_classes = {"toolchain": _toolchain},
)
