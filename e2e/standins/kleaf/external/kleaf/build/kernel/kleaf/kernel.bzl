"""The public rules."""

load("//build/kernel/kleaf/impl:kernel_build.bzl", _kernel_build = "kernel_build")
load(
    "//build/kernel/kleaf/impl:kernel_unstripped_modules_archive.bzl",
    _kernel_unstripped_modules_archive = "kernel_unstripped_modules_archive",
)

kernel_build = _kernel_build
kernel_unstripped_modules_archive = _kernel_unstripped_modules_archive
