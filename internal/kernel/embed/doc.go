// Package embed puts BTF into ELF files: into existing files such as kernel modules (Into), or into
// a new object file that is linked into vmlinux (ObjectFile).
//
// The kernel finds the BTF of a module by the section names .BTF and .BTF.base
// (find_module_sections in kernel/module/main.c). The kernel finds its own BTF by the symbols
// __start_BTF and __stop_BTF, which the linker puts around .BTF (btf_parse_vmlinux in
// kernel/bpf/btf.c).
package embed
