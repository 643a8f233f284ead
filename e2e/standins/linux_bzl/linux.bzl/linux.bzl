"""The public rules and providers."""

load("//internal:linux_modules.bzl", _linux_cc_module = "linux_cc_module")
load("//internal:providers.bzl", _LinuxKernelInfo = "LinuxKernelInfo")

LinuxKernelInfo = _LinuxKernelInfo
linux_cc_module = _linux_cc_module
