"""Exec groups: they let users choose the machines of large actions and of tests."""

load("//rules:toolchain.bzl", "TOOLCHAIN_TYPE")

visibility(["//kbuild/...", "//rules/..."])

# The large actions have an exec group, so that a user can choose their machine:
# exec_properties = {"btf_link.mem": "16g"}.
LINK_EXEC_GROUP = "btf_link"
LINK_EXEC_GROUPS = {LINK_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}

# Tests run in the group that Bazel calls "test". If a rule didn't declare this group, Bazel 9 would
# run its tests only on machines like the target platform, and would refuse to build the tests of a
# kernel for another machine.
TEST_EXEC_GROUP = "test"
TEST_EXEC_GROUPS = {TEST_EXEC_GROUP: exec_group(toolchains = [TOOLCHAIN_TYPE])}
