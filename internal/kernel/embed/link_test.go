package embed

import (
	"bytes"
	stdelf "debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	ciliumbtf "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfload"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// kernel is a minimal kernel, which finds its BTF by symbols from the linker.
const kernel = `
extern const char __start_BTF[], __stop_BTF[];
unsigned long btf_size(void) { return __stop_BTF - __start_BTF; }
void _start(void) { btf_size(); }
`

// script has the lines about BTF from include/asm-generic/vmlinux.lds.h in the kernel.
const script = `
SECTIONS {
	. = 0x100000;
	.text : { *(.text .text.*) }
	.rodata : { *(.rodata .rodata.*) }
	. = ALIGN(0x1000);
	.BTF : { __start_BTF = .; KEEP(*(.BTF)) __stop_BTF = .; }
	. = ALIGN(0x1000);
	.data : { *(.data .data.*) }
	.bss : { *(.bss .bss.*) }
}
`

// linked links the minimal kernel with an object that contains the BTF, for the machine and ABI
// that the compiler flags select. It returns the paths of the kernel and the object.
func linked(t *testing.T, types func(f stdelf.FileHeader) *Blob, linker, compiler string,
	flags ...string) (vmlinux, object string) {
	t.Helper()
	code := programtest.Compile(t, kernel, compiler,
		append(flags, "-c", "-ffreestanding", "-fno-pic")...)
	f := open(t, code)
	data := must.Get(ObjectFile(f, types(stdelf.FileHeader{ByteOrder: f.Order})))(t)
	object = write(t, "vmlinux.btf.o", data)
	if out := programtest.Run(t, "", "readelf", "-hSW", object); strings.Contains(out, "Warning") {
		t.Errorf("readelf:\n%s", out)
	}
	partly := filepath.Join(t.TempDir(), "vmlinux.o")
	ld := strings.Fields(linker)
	programtest.Run(t, "", ld[0], append(ld[1:], "-r", "-o", partly, code, object)...)
	vmlinux = filepath.Join(t.TempDir(), "vmlinux")
	programtest.Run(t, "", ld[0], append(ld[1:], "-z", "noexecstack", "-T",
		write(t, "vmlinux.lds", []byte(script)),
		"-o", vmlinux, partly)...)
	return vmlinux, object
}

// TestObject links a kernel with an object that contains its BTF, for many machines and ABIs.
// Linkers compare e_flags, because riscv, mips, arm, loongarch and powerpc have several ABIs that
// can't be mixed.
func TestObject(t *testing.T) {
	machines := [][]string{{"ld", "gcc"}, {"ld -m elf_i386", "gcc", "-m32"}}
	for _, target := range []string{"x86_64", "i386", "aarch64", "aarch64_be", "armv7-linux-gnueabihf",
		"armeb-linux-gnueabi", "s390x -munaligned-symbols", "powerpc64le", "powerpc64",
		"riscv64 -mabi=lp64", "riscv64 -mabi=lp64d", "riscv32 -mabi=ilp32",
		"loongarch64 -mabi=lp64s", "mips64el -mabi=64", "mips -mabi=32"} {
		name, abi, _ := strings.Cut(target, " ")
		if !strings.Contains(name, "-") {
			name += "-linux-gnu"
		}
		machines = append(machines, append([]string{"ld.lld", "clang", "--target=" + name},
			strings.Fields(abi)...))
	}
	for _, m := range machines {
		t.Run(strings.Join(m, " "), func(t *testing.T) {
			var types *Blob
			vmlinux, _ := linked(t, func(h stdelf.FileHeader) *Blob {
				types = someBTF(t, h.ByteOrder, "kernel_type", 20)
				return types
			}, m[0], m[1], m[2:]...)
			f, err := stdelf.Open(vmlinux)
			must.OK(t, err)
			defer f.Close()
			s := f.Section(btf.SectionTypes)
			got, err := s.Data()
			if err != nil || string(got) != string(types.Data) || s.Flags != stdelf.SHF_ALLOC {
				t.Errorf(".BTF %+v (%v), want %d bytes", s, err, len(types.Data))
			}
			symbols, err := f.Symbols()
			must.OK(t, err)
			if size := symbol(symbols, "__stop_BTF") - symbol(symbols, "__start_BTF"); size !=
				uint64(len(types.Data)) {
				t.Errorf("the kernel would read %d bytes, not %d", size, len(types.Data))
			}
		})
	}
}

func symbol(list []stdelf.Symbol, name string) uint64 {
	i := slices.IndexFunc(list, func(s stdelf.Symbol) bool { return s.Name == name })
	if i < 0 {
		return 0
	}
	return list[i].Value
}

// TestLoaded embeds BTF into a kernel that has .BTF in a loaded segment. BTF of the same size
// replaces the old BTF without moving anything; larger BTF is an error. Over leaves BTF of another
// size where it is.
func TestLoaded(t *testing.T) {
	var old *Blob
	vmlinux, object := linked(t, func(h stdelf.FileHeader) *Blob {
		old = someBTF(t, h.ByteOrder, "kernel_type", 20)
		return old
	}, "ld", "gcc", "-g")
	f := open(t, vmlinux)
	same := someBTF(t, f.Order, "KERNEL_TYPE", 20)
	out, err := into(f, same, nil)
	must.OK(t, err)
	in := string(f.Bytes())
	if want := strings.Replace(in, string(old.Data), string(same.Data), 1); string(out) != want ||
		want == in {
		t.Error("the file differs outside of the BTF, or has the old BTF")
	}
	larger := someBTF(t, f.Order, "x", 21)
	if _, err := into(f, larger, nil); err == nil || !strings.Contains(err.Error(), "--object") ||
		!strings.HasPrefix(err.Error(), vmlinux+": ") {
		t.Errorf("error %v", err)
	}
	for _, other := range []*Blob{someBTF(t, f.Order, "shorter", 20), larger} {
		edit, beside := must.Get2(Over(f, other, nil))(t)
		var out bytes.Buffer
		must.OK(t, edit.Write(&out))
		o := open(t, write(t, "vmlinux", out.Bytes()))
		s := o.Section(btf.SectionTypes)
		if !beside || s.Alloc() || string(s.Raw()) != string(other.Data) {
			t.Errorf("beside what is loaded: %v, %+v", beside, s)
		}
		if text := programtest.Run(t, "", "readelf", "-aW", o.Path); strings.Contains(text, "Warning") {
			t.Errorf("readelf:\n%s", text)
		}
		at := strings.Index(in, string(old.Data)) // the loaded BTF stays
		if string(out.Bytes()[at:at+len(old.Data)]) != string(old.Data) {
			t.Error("the loaded bytes have changed")
		}
	}
	// In an object, the size is not fixed: the section grows, and is still loaded.
	larger = someBTF(t, f.Order, "x", 50)
	if out, err = into(open(t, object), larger, nil); err != nil {
		t.Fatal(err)
	}
	o, err := elf.Parse("object", out)
	must.OK(t, err)
	if s := o.Sections[1]; s.Name != btf.SectionTypes || !s.Alloc() ||
		string(s.Raw()) != string(larger.Data) {
		t.Errorf("section 1: %+v", s)
	}
}

// TestPadded embeds smaller BTF into a kernel that has .BTF in a loaded segment. Our verifier, the
// running kernel, libbpf and cilium/ebpf accept the padded BTF, and read the same types from it.
func TestPadded(t *testing.T) {
	var old *Blob
	vmlinux, _ := linked(t, func(h stdelf.FileHeader) *Blob {
		old = someBTF(t, h.ByteOrder, "kernel_type", 20)
		return old
	}, "ld", "gcc", "-g")
	f := open(t, vmlinux)
	for _, members := range []int{1, 15, 19, 20} {
		small := someBTF(t, f.Order, "shorter", members)
		edit, data, err := Into(f, small, nil)
		must.OK(t, err)
		if len(data) != len(old.Data) {
			t.Errorf("%d bytes, want %d", len(data), len(old.Data))
		}
		var out bytes.Buffer
		must.OK(t, edit.Write(&out))
		in := string(f.Bytes())
		if want := strings.Replace(in, string(old.Data), string(data), 1); out.String() != want {
			t.Error("the file differs outside of the BTF")
		}
		blob, err := btf.Parse(data, nil)
		must.OK(t, err)
		for _, v := range verify.Check(blob, verify.Options{}) {
			t.Errorf("%d members: %v", members, v)
		}
		if err := btfload.Load(data, 1<<16); errors.Is(err, btfload.ErrUnavailable) {
			t.Log(err)
		} else if err != nil {
			t.Errorf("%d members: %v", members, err)
		}
		if spec, err := ciliumbtf.LoadSpecFromReader(bytes.NewReader(data)); err != nil {
			t.Errorf("%d members: cilium/ebpf: %v", members, err)
		} else if _, err := spec.AnyTypeByName("shorter"); err != nil {
			t.Errorf("%d members: cilium/ebpf: %v", members, err)
		}
		dump := func(data []byte) string {
			return programtest.Run(t, "", "bpftool", "btf", "dump", "file", write(t, "btf", data))
		}
		if got, want := dump(data), dump(small.Data); got != want {
			t.Errorf("bpftool shows\n%swant\n%s", got, want)
		}
		again, err := into(open(t, write(t, "vmlinux", out.Bytes())), old, nil)
		if err != nil || string(again) != in {
			t.Errorf("the old BTF, again: %v", err)
		}
	}
}

// TestTooMuchPadding checks the errors for BTF that can't be padded.
func TestTooMuchPadding(t *testing.T) {
	b := someBTF(t, binary.LittleEndian, "it", 1)
	if _, err := b.padded(1 << 24); err != nil {
		t.Error(err)
	}
	want := "it.btf: to fill the 33554432 bytes that the linker reserved for BTF, there would have to " +
		"be 33554368 bytes of strings, but the kernel reads only 16777216"
	if _, err := b.padded(1 << 25); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	h, order, err := btf.ReadHeader(b.Data)
	must.OK(t, err)
	types, strs := b.Data[h.HdrLen:][:h.TypeLen], b.Data[h.HdrLen+h.StrOff:]
	swapped := slices.Concat(b.Data[:h.HdrLen], []byte("\x00int\x00it\x00m\x00\x00\x00"), types)
	if len(strs) != 10 {
		t.Fatalf("the strings are %q", strs)
	}
	order.PutUint32(swapped[8:], 12)
	order.PutUint32(swapped[16:], 0)
	order.PutUint32(swapped[20:], 12)
	if b, err = NewBlob("swapped.btf", swapped); err != nil {
		t.Fatal(err)
	}
	want = "swapped.btf: the kernel refuses BTF whose string section is not at the end"
	if _, err := b.padded(1 << 10); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestUnloaded embeds BTF into a program that was linked without BTF. The new section is not
// loaded, so the program behaves as before.
func TestUnloaded(t *testing.T) {
	path := programtest.Compile(t, `int main(void) { return 42; }`, "gcc", "-g", "-Wl,-z,noexecstack")
	f := open(t, path)
	out := must.Get(into(f, someBTF(t, f.Order, "x", 5), nil))(t)
	sameBut(t, read(t, f.Bytes()), read(t, out))
	program := write(t, "program", out)
	must.OK(t, os.Chmod(program, 0o777))
	if code := exitCode(program); code != 42 {
		t.Errorf("the program ends with %d", code)
	}
}

// TestEmptyLoaded embeds BTF into a kernel with an empty .BTF, which counts as no .BTF. lld creates
// an empty .BTF if the kernel uses its symbols; GNU ld creates one with --emit-relocs, if an object
// has .BTF.
func TestEmptyLoaded(t *testing.T) {
	code := programtest.Compile(t, kernel, "gcc", "-g", "-c", "-ffreestanding", "-fno-pic")
	empty := programtest.Compile(t, `asm(".section .BTF,\"a\"");`, "gcc", "-c")
	vmlinux := filepath.Join(t.TempDir(), "vmlinux")
	programtest.Run(t, "", "ld", "-z", "noexecstack", "--emit-relocs", "-T",
		write(t, "vmlinux.lds", []byte(script)), "-o", vmlinux, code, empty)
	f := open(t, vmlinux)
	if s := f.Section(btf.SectionTypes); s == nil || !s.Alloc() || s.Size != 0 {
		t.Fatalf("the linker has left %+v", s)
	}
	types := someBTF(t, f.Order, "x", 5)
	out := must.Get(into(f, types, nil))(t)
	vmlinux = write(t, "vmlinux", out)
	s := open(t, vmlinux).Section(btf.SectionTypes)
	if s == nil || s.Alloc() || string(s.Raw()) != string(types.Data) {
		t.Errorf("section .BTF: %+v", s)
	}
	if text := programtest.Run(t, "", "readelf", "-aW", vmlinux); strings.Contains(text, "Warning") {
		t.Errorf("readelf:\n%s", text)
	}
	object := filepath.Join(t.TempDir(), "vmlinux.btf.o") // like link-vmlinux.sh up to Linux 6.18
	programtest.Run(t, "", "objcopy", "--only-section=.BTF", "--set-section-flags", ".BTF=alloc,readonly",
		"--strip-all", vmlinux, object)
	if s := open(t, object).Section(btf.SectionTypes); string(s.Raw()) != string(types.Data) {
		t.Errorf("objcopy copies %d bytes of .BTF, not %d", s.Size, len(types.Data))
	}
}
