package bpftest

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btfext"
	"github.com/rules-btf/rules_btf/internal/programs/bpfobj"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// Site is the place of a relocation: a function and an instruction in it.
type Site struct {
	Function string
	Insn     int
}

// String is the site as "function@7".
func (s Site) String() string { return fmt.Sprintf("%s@%d", s.Function, s.Insn) }

// Answers has the answers of libbpf or cilium/ebpf to relocations, as text: each is a number,
// "poison", or "refused".
type Answers map[Site]string

// Poison and Refused are answers that aren't numbers.
const (
	Poison  = "poison"  // the instruction becomes invalid
	Refused = "refused" // the program isn't loaded
)

//go:embed testdata/libbpf.c
var libbpfSource string

// Libbpf gets answers from libbpf's own functions, which a program calls in libbpf's static
// library.
type Libbpf struct {
	program string
	// If Pruned is set, relocations of one local type share a list of candidates, and each relocation
	// removes the candidates that it doesn't match. libbpf does so when it loads an object.
	Pruned bool
}

// NewLibbpf builds the program that calls libbpf. It skips the test if the library is missing.
func NewLibbpf(t testing.TB) *Libbpf {
	t.Helper()
	needLibbpf(t)
	d := programtest.NewDir(t)
	d.Write("libbpf.c", libbpfSource)
	d.Run("gcc", "-O1", "-o", "ask", "libbpf.c", "-l:libbpf.a", "-lelf", "-lz")
	return &Libbpf{program: d.Path("ask")}
}

// needLibbpf skips the test if the static library is missing.
func needLibbpf(t testing.TB) {
	t.Helper()
	programtest.Need(t, "clang", "gcc")
	d := programtest.NewDir(t)
	d.Write("a.c", "int main(void) { return 0; }")
	if exec.Command("gcc", "-o", d.Path("a"), d.Path("a.c"), "-l:libbpf.a", "-lelf",
		"-lz").Run() != nil {
		t.Skip("SKIPPED: libbpf.a isn't installed (./bazelw --root-exec has it)")
	}
}

// Ask returns how libbpf resolves each relocation of a BPF object file for a kernel. The first
// result, answers, is from bpf_core_calc_relo_insn; the second, patched, is from
// bpf_core_patch_insn, which also looks at the instruction.
func (l *Libbpf) Ask(t testing.TB, object, vmlinux []byte, modules ...[]byte) (answers,
	patched Answers) {
	t.Helper()
	all := l.ask(t, object, vmlinux, modules)
	return all[0], all[1]
}

// Instructions returns, for each relocation, the instruction that libbpf makes, in hexadecimal: the
// first of two if it is a load of 64 bits. The instruction is Poison's if it is invalid.
func (l *Libbpf) Instructions(t testing.TB, object, vmlinux []byte, modules ...[]byte) Answers {
	t.Helper()
	return l.ask(t, object, vmlinux, modules)[2]
}

// ask returns the words that the program prints for each relocation.
func (l *Libbpf) ask(t testing.TB, object, vmlinux []byte, modules [][]byte) [3]Answers {
	t.Helper()
	o, err := bpfobj.Read(object)
	must.OK(t, err)
	access := accessOffsets(t, object, o)
	var sites []Site
	var input []byte
	for _, f := range o.Functions {
		for _, at := range slices.Sorted(maps.Keys(f.Relocations)) {
			r := f.Relocations[at]
			sites = append(sites, Site{f.Name, at})
			for _, word := range []uint32{0, r.Type, access[r.Access], uint32(r.Kind)} {
				input = binary.LittleEndian.AppendUint32(input, word)
			}
			for i := range 2 {
				insn := bpfobj.Insn{}
				if at+i < len(f.Insns) {
					insn = f.Insns[at+i]
				}
				input = append(input, insn.Op, insn.Dst|insn.Src<<4)
				input = binary.LittleEndian.AppendUint16(input, uint16(insn.Off))
				input = binary.LittleEndian.AppendUint32(input, uint32(insn.Imm))
			}
		}
	}
	d := programtest.NewDir(t)
	args := []string{"separate", d.Path("local"), d.Path("vmlinux")}
	if l.Pruned {
		args[0] = "pruned"
	}
	d.Write("local", string(section(t, object, ".BTF")))
	d.Write("vmlinux", string(vmlinux))
	for i, m := range modules {
		name := fmt.Sprintf("m%d", i)
		d.Write(name, string(m))
		args = append(args, d.Path(name))
	}
	cmd := exec.Command(l.program, args...)
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if err != nil || len(lines) != len(sites) {
		t.Fatalf("libbpf: %v, %d answers for %d relocations", err, len(lines), len(sites))
	}
	all := [3]Answers{{}, {}, {}}
	for i, line := range lines {
		for j, word := range strings.Fields(line) {
			all[j][sites[i]] = word
		}
	}
	return all
}

// accessOffsets returns, for each access such as "0:1", the offset of this string in the object's
// BTF.
func accessOffsets(t testing.TB, object []byte, o *bpfobj.Object) map[string]uint32 {
	t.Helper()
	sections := must.Get(btfext.Parse(section(t, object, btfext.SectionName), o.BTF.Order))(t)
	offsets := map[string]uint32{}
	for _, s := range sections {
		for _, r := range s.Relocations {
			text, _ := o.BTF.Name(r.Access)
			offsets[text] = r.Access
		}
	}
	return offsets
}
