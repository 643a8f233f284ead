// Package bpftest is for tests of CO-RE: it makes BPF programs and kernels from C, and finds
// out how libbpf and cilium/ebpf resolve the programs' relocations for these kernels.
//
//	compile.go   compiles BPF programs with clang; makes BTF of kernels with gcc and pahole
//	libbpf.go    gets the answers of libbpf
//	load.go      loads programs into the running kernel with libbpf
//	cilium.go    gets the answers of cilium/ebpf
//	random.go    makes random programs for a kernel, with relocations. The programs' types are from
//	             random_types.go, and the members of structs are from random_members.go.
//	random_kernel.go  makes random kernels, in which several types have the same names
//	random_object.go  makes random object files for the running kernel
package bpftest

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// Prelude is the beginning of all test programs: macros for clang's builtins, as in libbpf's
// bpf_core_read.h. It includes no headers, so that no member in a kernel has the name of a macro.
const Prelude = `
#define SEC(name) __attribute__((section(name), used))
#define P __attribute__((preserve_access_index))
#define byte_off(f) __builtin_preserve_field_info(f, 0)
#define byte_sz(f) __builtin_preserve_field_info(f, 1)
#define field_exists(f) __builtin_preserve_field_info(f, 2)
#define is_signed(f) __builtin_preserve_field_info(f, 3)
#define lshift(f) __builtin_preserve_field_info(f, 4)
#define rshift(f) __builtin_preserve_field_info(f, 5)
#define type_id_local(t) __builtin_btf_type_id(*(t *)0, 0)
#define type_id_target(t) __builtin_btf_type_id(*(t *)0, 1)
#define type_exists(t) __builtin_preserve_type_info(*(t *)0, 0)
#define type_size(t) __builtin_preserve_type_info(*(t *)0, 1)
#define type_matches(t) __builtin_preserve_type_info(*(t *)0, 2)
#define enum_exists(t, v) __builtin_preserve_enum_value(*(t *)v, 0)
#define enum_value(t, v) __builtin_preserve_enum_value(*(t *)v, 1)
volatile unsigned long long out;
char _license[] SEC("license") = "GPL";
`

// Compile returns the object file of BPF programs: Prelude and the source.
func Compile(t testing.TB, source string) []byte {
	t.Helper()
	object, message := compile(t, source, binary.LittleEndian)
	if object == nil {
		t.Fatalf("clang: %s", message)
	}
	return object
}

// compile returns the object file, or what clang says if it fails.
func compile(t testing.TB, source string, order binary.ByteOrder) (object []byte, message string) {
	t.Helper()
	programtest.Need(t, "clang")
	d := programtest.NewDir(t)
	d.Write("p.bpf.c", Prelude+source)
	target := "bpfel"
	if order == binary.BigEndian {
		target = "bpfeb"
	}
	out, err := exec.Command("clang", "-target", target, "-mcpu=v3", "-g", "-O2", "-std=gnu11", "-w",
		"-fno-crash-diagnostics", "-c", d.Path("p.bpf.c"), "-o", d.Path("p.o")).CombinedOutput()
	if err != nil {
		return nil, string(out)
	}
	return read(t, d.Path("p.o")), ""
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return data
}

// Kernel compiles and links C sources, and returns the BTF that pahole makes from the result.
func Kernel(t testing.TB, sources ...string) []byte {
	t.Helper()
	return pahole(t, nil, sources)
}

// Module returns the split BTF that pahole makes from C sources, based on the BTF of a kernel.
func Module(t testing.TB, kernel []byte, sources ...string) []byte {
	t.Helper()
	return pahole(t, kernel, sources)
}

func pahole(t testing.TB, base []byte, sources []string) []byte {
	t.Helper()
	programtest.Need(t, "clang", "gcc", "pahole")
	d := programtest.NewDir(t)
	objects := []string{"-r", "-o", "k.o"}
	for i, source := range sources {
		name := fmt.Sprintf("k%d", i)
		d.Write(name+".c", source)
		d.Run("gcc", "-g", "-gdwarf-5", "-fcommon",
			"-fno-eliminate-unused-debug-types", "-c", name+".c")
		objects = append(objects, name+".o")
	}
	d.Run("ld", objects...)
	args := []string{"--btf_features=default", "--btf_encode_detached=k.btf", "k.o"}
	if base != nil {
		d.Write("base.btf", string(base))
		args = append([]string{"--btf_base=base.btf"}, args...)
	}
	d.Run("pahole", args...)
	return read(t, d.Path("k.btf"))
}

// BigEndian returns the BTF that pahole makes from a C source, compiled for s390x.
func BigEndian(t testing.TB, source string) []byte {
	t.Helper()
	programtest.Need(t, "clang", "pahole")
	d := programtest.NewDir(t)
	d.Write("k.c", source)
	d.Run("clang", "-target", "s390x-linux-gnu", "-g", "-gdwarf-5",
		"-fno-eliminate-unused-debug-types",
		"-c", "k.c", "-o", "k.o")
	d.Run("pahole", "--btf_features=default", "--btf_encode_detached=k.btf", "k.o")
	return read(t, d.Path("k.btf"))
}

// Parse returns a kernel with the BTF of vmlinux and of modules, which are named m0, m1, ….
func Parse(t testing.TB, vmlinux []byte, modules ...[]byte) *core.Kernel {
	t.Helper()
	parse := func(data []byte, base *core.BTF) *core.BTF {
		var below *btf.Blob
		if base != nil {
			below = base.Blob
		}
		blob := must.Get(btf.Parse(data, below))(t)
		b := must.Get(core.NewBTF(blob, base))(t)
		return b
	}
	k := &core.Kernel{Vmlinux: parse(vmlinux, nil)}
	for i, m := range modules {
		k.Modules = append(k.Modules, core.Module{Name: fmt.Sprintf("m%d", i),
			BTF: parse(m, k.Vmlinux)})
	}
	return k
}

// Real returns the BTF of real kernels, by name: the files that KERNEL_BTF lists, separated by
// colons, or the BTF of the running kernel. The result may be empty.
func Real(t testing.TB) map[string][]byte {
	t.Helper()
	kernels := map[string][]byte{}
	for _, path := range filepath.SplitList(os.Getenv("KERNEL_BTF")) {
		kernels[strings.TrimSuffix(filepath.Base(path), ".btf")] = read(t, path)
	}
	if data, err := os.ReadFile("/sys/kernel/btf/vmlinux"); err == nil && len(kernels) == 0 {
		kernels["running"] = data
	}
	return kernels
}

// Number returns the number in an environment variable, or the given default if the variable isn't
// set.
func Number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n := must.Get(strconv.Atoi(text))(t)
	return n
}

// section returns the content of a section of an object file.
func section(t testing.TB, object []byte, name string) []byte {
	t.Helper()
	f := must.Get(elf.NewFile(bytes.NewReader(object)))(t)
	data := must.Get(f.Section(name).Data())(t)
	return data
}
