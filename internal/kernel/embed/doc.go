// Package embed puts BTF into ELF files: into kernel modules and other existing files (Into), and
// into objects that vmlinux is linked with (Object).
//
// The kernel finds a module's BTF by the names of the sections .BTF and .BTF.base
// (find_module_sections in kernel/module/main.c) and its own by the symbols __start_BTF and
// __stop_BTF, between which the linker has put .BTF (btf_parse_vmlinux in kernel/bpf/btf.c).
package embed
