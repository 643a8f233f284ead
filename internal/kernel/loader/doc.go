// Package loader finds out what a kernel would do with a module when it is loaded: take the module
// with its BTF, drop the BTF, or refuse the module.
//
// A module's BTF continues the BTF of vmlinux: its type ids and string offsets only make sense with
// the one vmlinux that the module was built for. The kernel checks the form of the BTF, but can't
// see that an id means something else. So there is a fourth answer, which the kernel doesn't give:
// the module loads, but its BTF is wrong, and BPF programs misread the module's data.
//
//	kernel.go   what decides: the kernel's BTF, release and version, read from its image
//	module.go   what decides: the module's BTF, .BTF_ids, vermagic and machine
//	load.go     the verdict, in the order of the kernel's checks
//	fits.go     signs that BTF was made for another vmlinux
//	version.go  what older kernels don't know
//
// The rules are those of Linux 7.2: load_module in kernel/module/main.c, same_magic in
// kernel/module/version.c, btf_module_notify and btf_parse_module in kernel/bpf/btf.c, and
// btf_relocate in tools/lib/bpf/btf_relocate.c. Signatures, symbols and the versions of symbols
// (modversions) aren't checked.
package loader
