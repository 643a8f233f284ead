// Package btf makes and checks BTF, the type information that BPF programs need: from the DWARF of
// a kernel, a module or a program, without pahole.
//
//	result, err := btf.FromELF("vmlinux", file, btf.Options{})           // result.BTF is raw BTF
//	split, err := btf.FromELF("disk.ko", module, btf.Options{Bases: [][]byte{result.BTF}})
//	violations, err := btf.Verify(split.BTF, result.BTF)                 // by the kernel's rules
//	needs, err := btf.NeedsOf(program)                                   // an object of BPF code
//	small, err := needs.Minimal(result.BTF)                              // kilobytes, for BTFHub
//
// Raw BTF is what the files in /sys/kernel/btf and the sections .BTF of ELF files contain, and what
// LoadSpecFromReader of github.com/cilium/ebpf/btf reads. The bytes are the same for any number of
// threads, and the same as those of the tools of this module: "btfgen elf", "btfcore min".
//
// Inputs may be damaged or hostile: then there is an error, and time and memory stay in proportion
// to the size of the input. The functions open no files, and change no state of the process.
package btf
