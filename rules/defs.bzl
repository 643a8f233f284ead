"""The public rules of rules_btf. Load everything from here."""

load(
    "//rules:providers.bzl",
    _BpfNeedsInfo = "BpfNeedsInfo",
    _BtfCcInfo = "BtfCcInfo",
    _BtfInfo = "BtfInfo",
    _BtfMinInfo = "BtfMinInfo",
    _BtfModulesInfo = "BtfModulesInfo",
    _BtfObjectsInfo = "BtfObjectsInfo",
)
load("//rules:toolchain.bzl", _btf_toolchain = "btf_toolchain")
load("//rules/private:bpf_needs.bzl", _bpf_needs = "bpf_needs")
load("//rules/private:btf_archive.bzl", _btf_archive = "btf_archive")
load("//rules/private:btf_core_test.bzl", _btf_core_test = "btf_core_test")
load("//rules/private:btf_diff_test.bzl", _btf_diff_test = "btf_diff_test")
load(
    "//rules/private:btf_embed.bzl",
    _btf_embed = "btf_embed",
    _btf_section_object = "btf_section_object",
)
load("//rules/private:btf_import.bzl", _btf_import = "btf_import")
load("//rules/private:btf_min.bzl", _btf_min = "btf_min")
load("//rules/private:btf_objects.bzl", _btf_objects = "btf_objects")
load("//rules/private:btf_repro_test.bzl", _btf_repro_test = "btf_repro_test")
load("//rules/private:btf_verify_test.bzl", _btf_verify_test = "btf_verify_test")
load("//rules/private:cc_btf.bzl", _btf_cc_aspect = "btf_cc_aspect", _cc_btf = "cc_btf")
load("//rules/private:module_btf.bzl", _module_btf = "module_btf")
load("//rules/private:modules_btf.bzl", _modules_btf = "modules_btf")
load("//rules/private:vmlinux_btf.bzl", _vmlinux_btf = "vmlinux_btf")
load("//rules/private:vmlinux_h.bzl", _vmlinux_h = "vmlinux_h")

# Rules.
btf_objects = _btf_objects
cc_btf = _cc_btf
vmlinux_btf = _vmlinux_btf
module_btf = _module_btf
modules_btf = _modules_btf
btf_import = _btf_import
btf_embed = _btf_embed
btf_section_object = _btf_section_object
btf_archive = _btf_archive
vmlinux_h = _vmlinux_h
bpf_needs = _bpf_needs
btf_min = _btf_min
btf_core_test = _btf_core_test
btf_diff_test = _btf_diff_test
btf_repro_test = _btf_repro_test
btf_verify_test = _btf_verify_test
btf_toolchain = _btf_toolchain

# For your own rules.
btf_cc_aspect = _btf_cc_aspect
BpfNeedsInfo = _BpfNeedsInfo
BtfCcInfo = _BtfCcInfo
BtfInfo = _BtfInfo
BtfMinInfo = _BtfMinInfo
BtfModulesInfo = _BtfModulesInfo
BtfObjectsInfo = _BtfObjectsInfo
