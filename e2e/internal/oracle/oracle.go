// Package oracle checks our BTF of a kernel with programs that share no code with the tools:
// pahole, bpftool with a C compiler, and the running kernel.
package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/internal/kernel/btfload"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// Features is the value of --btf_features that Linux 7.2 passes to pahole (scripts/Makefile.btf).
// It is also pahole's default set.
const Features = "encode_force,var,float,enum64,decl_tag,type_tag,optimized_func," +
	"consistent_func,decl_tag_kfuncs"

// Blob is a BTF file and its bases, deepest first.
type Blob struct {
	Path  string
	Bases []string
}

// Pahole encodes the BTF of elf into a new file.
func Pahole(tb testing.TB, elf string, bases ...string) Blob {
	tb.Helper()
	return PaholeWith(tb, Features, elf, bases...)
}

// PaholeWith is like Pahole, but with the given features.
func PaholeWith(tb testing.TB, features, elf string, bases ...string) Blob {
	tb.Helper()
	harness.Need(tb, "pahole")
	out := filepath.Join(tb.TempDir(), filepath.Base(elf)+".pahole.btf")
	argv := []string{"pahole", "-J", "-j2", "--btf_features=" + features, "--lang_exclude=rust",
		"--btf_encode_detached=" + out}
	if n := len(bases); n > 0 {
		argv = append(argv, "--btf_base="+bases[n-1])
	}
	harness.MustRun(tb, "", append(argv, elf)...)
	return Blob{out, bases}
}

// maxFunctions limits the share of functions in a kernel that only pahole encodes; each of them
// also needs a reason. The limit does not apply to modules, which have too few functions.
const maxFunctions = 0.005

// SameTypes compares our BTF with pahole's BTF of the same file, elfPath, and prints the
// differences. It fails the test if it knows no reason for a difference in a named type, a variable
// or a function. The parameter skipped is the file that btfgen's --skipped wrote.
func SameTypes(
	tb testing.TB, elfPath string, ours Blob, skipped string, pahole Blob,
) *compare.Result {
	tb.Helper()
	var r *compare.Result
	harness.Do(tb, func() {
		a := harness.Get(content.Load(ours.Path, ours.Bases...))
		b := harness.Get(content.Load(pahole.Path, pahole.Bases...))
		if len(ours.Bases) > 0 {
			DropBase(a, ours.Bases)
			DropBase(b, pahole.Bases)
		}
		r = compare.Contents(a, b)
		Explain(tb, r, a, elfPath, skipped)
		if len(ours.Bases) > 0 {
			explainBase(r, pahole.Bases)
		}
	})
	var text strings.Builder
	r.Print(&text, 5)
	fmt.Println(text.String())

	if left := r.Unexplained(); len(left) > 0 {
		tb.Errorf("%d differences from pahole are not explained", len(left))
	}
	functions := 0
	for _, d := range r.Differences {
		if d.Class == content.Func && d.Kind == compare.OnlyOracle {
			functions++
		}
	}
	if limit := maxFunctions * float64(r.Oracle[content.Func]); len(ours.Bases) == 0 &&
		float64(functions) > limit {
		tb.Errorf("%d of %d functions are only in pahole's BTF, more than the limit of "+
			"%.1f%%", functions,
			r.Oracle[content.Func], 100*maxFunctions)
	}
	for _, class := range []content.Class{content.Struct, content.Func} {
		if len(ours.Bases) == 0 && r.Oracle[class] == 0 {
			tb.Errorf("pahole's BTF has no %s: nothing was compared", class)
		}
	}
	return r
}

// Explain sets the reasons of the known differences in r, between our BTF and pahole's BTF of
// elfPath. The parameter ours has the contents of our BTF without its base, and skipped is the file
// that btfgen's --skipped wrote.
func Explain(
	tb testing.TB, r *compare.Result, ours *content.Contents, elfPath, skipped string,
) {
	tb.Helper()
	harness.Do(tb, func() {
		r.Explain(compare.Against(ours, harness.Get(compare.LoadSkips(skipped))))
		explainByDWARF(r, elfPath)
		explainVariables(r, elfPath)
	})
}

// DropBase removes from c the definitions of types that are also in a base. Our split BTF never has
// such definitions, but libbpf leaves some of them in pahole's split BTF.
func DropBase(c *content.Contents, bases []string) {
	for i, path := range bases {
		base := harness.Get(content.Load(path, bases[:i]...))
		for class, names := range c.Definitions {
			if class == content.Func || class == content.Var || class == content.Section {
				continue
			}
			for name, texts := range names {
				names[name] = slices.DeleteFunc(texts, func(text string) bool {
					return slices.Contains(base.Definitions[class][name], text)
				})
				if len(names[name]) == 0 {
					delete(names, name)
				}
			}
		}
	}
}

// Compiles lets bpftool make a C header from b, and checks that gcc compiles the header.
func Compiles(tb testing.TB, b Blob) {
	tb.Helper()
	harness.Need(tb, "bpftool", "gcc")
	argv := []string{"bpftool"}
	if n := len(b.Bases); n > 0 {
		argv = append(argv, "-B", b.Bases[n-1])
	}
	header := harness.MustRun(tb, "", append(argv, "btf", "dump", "file", b.Path, "format", "c")...)
	dir := tb.TempDir()
	harness.WriteFile(tb, filepath.Join(dir, "vmlinux.h"), header)
	harness.WriteFile(tb, filepath.Join(dir, "use.c"), "#include \"vmlinux.h\"\n")
	harness.MustRun(tb, dir, "gcc", "-std=gnu11", "-m64", "-fsyntax-only", "-Wno-attributes", "use.c")
	structs := strings.Count(header, "\nstruct ")
	if len(b.Bases) == 0 && structs == 0 {
		tb.Errorf("bpftool's header of %s has no struct", b.Path)
	}
	fmt.Printf("bpftool's header of %s: %d lines, %d structs; gcc accepts it\n", filepath.Base(b.Path),
		strings.Count(header, "\n"), structs)
}

// KernelAccepts loads b into the running kernel. It first joins b with its bases, because the
// kernel accepts no split BTF from user space.
func KernelAccepts(tb testing.TB, b Blob) {
	tb.Helper()
	blob, err := Join(append(append([]string{}, b.Bases...), b.Path)...)
	must.OK(tb, err)
	err = btfload.Load(blob, 1<<20)
	if errors.Is(err, btfload.ErrUnavailable) {
		tb.Skipf("SKIPPED: %v", err)
	}
	if err != nil {
		tb.Fatalf("the kernel refuses %s: %v", b.Path, err)
	}
	// The control: the kernel must refuse the same blob if its last type is cut short.
	order := binary.LittleEndian
	damaged := append([]byte(nil), blob...)
	order.PutUint32(damaged[12:], order.Uint32(damaged[12:])-4)
	if err := btfload.Load(damaged, 1<<20); err == nil {
		tb.Error("the kernel accepts a damaged blob: this check proves nothing")
	}
	fmt.Printf("the running kernel accepts %s (%d bytes)\n", filepath.Base(b.Path), len(blob))
}

// Join makes one blob from a raw little-endian BTF file and split BTF files; each file is based on
// those that precede it. The type ids and string offsets of split BTF continue those of its base,
// so Join concatenates the types and the strings.
func Join(paths ...string) ([]byte, error) {
	const headerSize = 24
	var types, strs []byte
	order := binary.LittleEndian
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if len(b) < headerSize || order.Uint16(b) != 0xeb9f {
			return nil, fmt.Errorf("%s: the file is not raw little-endian BTF", path)
		}
		part := func(at int) ([]byte, error) {
			start := uint64(order.Uint32(b[4:])) + uint64(order.Uint32(b[at:]))
			end := start + uint64(order.Uint32(b[at+4:]))
			if end > uint64(len(b)) {
				return nil, fmt.Errorf("%s: a part of the BTF, bytes %d to %d, is outside of the "+
					"file", path, start, end)
			}
			return b[start:end], nil
		}
		t, err := part(8)
		if err != nil {
			return nil, err
		}
		s, err := part(16)
		if err != nil {
			return nil, err
		}
		types, strs = append(types, t...), append(strs, s...)
	}
	out := make([]byte, headerSize, headerSize+len(types)+len(strs))
	order.PutUint16(out, 0xeb9f)
	out[2] = 1
	order.PutUint32(out[4:], headerSize)
	order.PutUint32(out[12:], uint32(len(types)))
	order.PutUint32(out[16:], uint32(len(types)))
	order.PutUint32(out[20:], uint32(len(strs)))
	return append(append(out, types...), strs...), nil
}
