"""The release that these files belong to.

These are the values for a checkout, which belongs to no release. tools/dev/release puts the real
values into the archive with the sources, so that a workspace that gets rules_btf from a registry
also gets the tools of that release.
"""

visibility("//rules/...")

VERSION = ""

# The checksum of the archive with the tools, for each platform.
SHA256 = {}
