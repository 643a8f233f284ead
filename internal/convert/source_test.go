package convert

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// source is a C file in testdata. Comments in the file give flags and the expected results:
//
//	// flags: -O2 -g            the compiler's flags, in place of -g -O1
//	// features: all            in place of "default"
//	// bases                    base types have lines too
//	// pahole: REASON           pahole is no oracle for this file
//	// one way: REASON          the file is compiled only with its flags, without variants
//	/* BTF: LINES */            what the dumper writes for the linked file
//	/* skipped: LINES */        functions that are not encoded, and why
type source struct {
	path     string
	flags    []string
	features string
	bases    bool
	pahole   string
	oneWay   string
	want     []string
	skipped  []string
}

func readSource(t *testing.T, path string) source {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	s := source{path: path, flags: []string{"-g", "-O1"}, features: "default"}
	var block *[]string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		switch rest, found := strings.CutPrefix(line, "// flags: "); {
		case found:
			s.flags = strings.Fields(rest)
		case line == "// bases":
			s.bases = true
		case line == "/* BTF:":
			block = &s.want
		case line == "/* skipped:":
			block = &s.skipped
		case line == "*/":
			block = nil
		case block != nil:
			*block = append(*block, line)
		default:
			for prefix, to := range map[string]*string{"// features: ": &s.features,
				"// pahole: ": &s.pahole, "// one way: ": &s.oneWay} {
				if rest, ok := strings.CutPrefix(line, prefix); ok {
					*to = rest
				}
			}
		}
	}
	slices.Sort(s.want)
	slices.Sort(s.skipped)
	return s
}

// compileObject makes an object from a C file.
func compileObject(t testing.TB, path string, flags ...string) string {
	t.Helper()
	obj := filepath.Join(t.TempDir(), "x.o")
	programtest.Run(t, "", "gcc", append([]string{"-std=gnu17", "-w", "-fno-pic",
		"-fno-eliminate-unused-debug-types", "-c", "-o", obj, path}, flags...)...)
	return obj
}

// compile makes an object from a C file, and a linked file from the object.
func compile(t testing.TB, path string, flags ...string) (obj, linked string) {
	t.Helper()
	obj = compileObject(t, path, flags...)
	linked = strings.TrimSuffix(obj, ".o")
	objs := []string{obj}
	if slices.Contains(flags, "-m32") {
		objs = append(objs, "-melf_i386")
	}
	linkObjects(t, linked, objs...)
	return obj, linked
}

// linkObjects links without a C library; undefined symbols are 0. The linker's flags may be among
// the objects.
func linkObjects(t testing.TB, out string, objs ...string) {
	t.Helper()
	programtest.Run(t, "", "ld", append([]string{"-e", "0", "--unresolved-symbols=ignore-all", "-T",
		"testdata/percpu.ld", "-o", out}, objs...)...)
}

func parseFeatures(t testing.TB, list string) features.Set {
	t.Helper()
	set := must.Get(features.Parse(list))(t)
	return set
}

// convertFile converts the file at path to one object.
func convertFile(t testing.TB, path string, opt Options) *object.Object {
	t.Helper()
	o := must.Get(tryConvert(path, opt))(t)
	return o
}

func tryConvert(path string, opt Options) (*object.Object, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if name, ok := strings.CutSuffix(path, ".elf"); ok && strings.Contains(name, "dwz-m-") {
		f.SetSupplement(func() (*elf.File, error) { return elf.Open(name + ".sup") })
	}
	o, err := File(f, opt)
	if err != nil {
		return nil, fmt.Errorf("%v", err)
	}
	return object.Merge(o.Object)
}

// linkTo makes the BTF of a linked file from objects, and checks that the BTF obeys the rules that
// a kernel applies to its own BTF.
func linkTo(t testing.TB, linked string, set features.Set, objs ...*object.Object) *link.Result {
	t.Helper()
	f := must.Get(elf.Open(linked))(t)
	defer f.Close()
	known := must.Get(facts.Extract(f, facts.Options{Features: set}))(t)
	r := must.Get(link.Link(objs, link.Options{Facts: known, Features: set, Jobs: 1}))(t)
	blob := must.Get(btf.Parse(r.BTF, nil))(t)
	boot := verify.Boot
	for _, v := range verify.Check(blob, verify.Options{Only: &boot, Sorted: true}) {
		if v.Rule != "no-types" {
			t.Errorf("a kernel refuses this as its own BTF: %v", v)
		}
	}
	return r
}

// linkFile makes the BTF of a linked file from that file alone.
func linkFile(t testing.TB, linked, list string) *link.Result {
	t.Helper()
	set := parseFeatures(t, list)
	return linkTo(t, linked, set, convertFile(t, linked, Options{Features: set, Jobs: 2}))
}

// readObject reads a BTF object.
func readObject(t testing.TB, data []byte) *object.Object {
	t.Helper()
	path := filepath.Join(t.TempDir(), "object.btfo")
	must.OK(t, os.WriteFile(path, data, 0o666))
	o, err := object.ReadFile(path, nil)
	if err != nil {
		t.Fatalf("the object can't be read: %v", err)
	}
	return o
}

// twoRoads makes BTF twice: from the objects, and from the file that was linked from them. Both
// links use the facts of that file, and must give the same bytes.
func twoRoads(t testing.TB, list string, linked string, objs ...string) *link.Result {
	t.Helper()
	set := parseFeatures(t, list)
	opt := Options{Features: set, Jobs: 2}
	direct := linkTo(t, linked, set, convertFile(t, linked, opt))
	alone := linkTo(t, linked, set, convertFile(t, linked, Options{Features: set, Jobs: 1}))
	if !bytes.Equal(direct.BTF, alone.BTF) {
		t.Errorf("two threads and one give different BTF:\n%s",
			diff(dump(t, alone.BTF, true), dump(t, direct.BTF, true)))
	}
	var parts []*object.Object
	for _, o := range objs {
		data := must.Get(object.Write(convertFile(t, o, opt), 1))(t)
		parts = append(parts, readObject(t, data))
	}
	graph := linkTo(t, linked, set, parts...)
	if !bytes.Equal(direct.BTF, graph.BTF) {
		t.Errorf("the objects and the linked file give different BTF:\n%s",
			diff(dump(t, graph.BTF, true), dump(t, direct.BTF, true)))
	}
	if !slices.Equal(direct.Skipped, graph.Skipped) {
		t.Errorf("skipped in the objects %q, in the linked file %q", graph.Skipped, direct.Skipped)
	}
	return direct
}

func diff(got, want []string) string {
	var b strings.Builder
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&b, "  - %s\n", l)
		}
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&b, "  + %s\n", l)
		}
	}
	if b.Len() == 0 && !slices.Equal(got, want) {
		fmt.Fprintf(&b, "  same lines, but not equally often:\n  %s\n", strings.Join(got, "\n  "))
	}
	return b.String()
}

func skippedLines(r *link.Result) []string {
	var out []string
	for _, s := range r.Skipped {
		out = append(out, s.Name+": "+s.Reason)
	}
	return out
}

var update = flag.Bool("update", false,
	"write the actual BTF into the files of testdata; check it before you trust it")

// write replaces the expected result in the source file.
func (s *source) write(t *testing.T, r *link.Result) {
	data := must.Get(os.ReadFile(s.path))(t)
	text, _, _ := strings.Cut(string(data), "/* BTF:\n")
	s.want, s.skipped = dump(t, r.BTF, s.bases), skippedLines(r)
	text += "/* BTF:\n" + strings.Join(s.want, "\n") + "\n*/\n"
	if len(s.skipped) > 0 {
		text += "/* skipped:\n" + strings.Join(s.skipped, "\n") + "\n*/\n"
	}
	must.OK(t, os.WriteFile(s.path, []byte(text), 0o666))
}

// check compares a result with the expected result in the source.
func (s *source) check(t *testing.T, r *link.Result) {
	t.Helper()
	if d := diff(dump(t, r.BTF, s.bases), s.want); d != "" {
		t.Errorf("%s: BTF is (-want +got)\n%s", s.path, d)
	}
	if d := diff(skippedLines(r), s.skipped); d != "" {
		t.Errorf("%s: skipped are (-want +got)\n%s", s.path, d)
	}
}

func sources(t *testing.T) []source {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.c")
	if err != nil || len(paths) == 0 {
		t.Fatal("no testdata", err)
	}
	var list []source
	for _, p := range paths {
		list = append(list, readSource(t, p))
	}
	return list
}

// variants are compiler flags that change the form of the DWARF, but not the types in it. A variant
// has several flags if they concern different parts of the file.
var variants = []struct {
	name  string
	flags []string
}{
	{"DWARF 2, macros", []string{"-gdwarf-2", "-g3"}},
	{"strict DWARF 2, zlib", []string{"-gdwarf-2", "-gstrict-dwarf", "-gz=zlib"}},
	{"strict DWARF 3, sections", []string{"-gdwarf-3", "-gstrict-dwarf", "-ffunction-sections",
		"-fdata-sections"}},
	{"64-bit DWARF 4, old zlib", []string{"-gdwarf-4", "-gdwarf64", "-gz=zlib-gnu"}},
	{"64-bit DWARF 5", []string{"-gdwarf-5", "-gdwarf64"}},
	{"type units, DWARF 4", []string{"-gdwarf-4", "-fdebug-types-section"}},
	{"type units, DWARF 5", []string{"-gdwarf-5", "-fdebug-types-section"}},
}

// TestSources compiles each file in testdata in all variants, and compares the BTF with the lines
// in the file.
func TestSources(t *testing.T) {
	for _, s := range sources(t) {
		t.Run(strings.TrimSuffix(filepath.Base(s.path), ".c"), func(t *testing.T) {
			t.Parallel()
			obj, linked := compile(t, s.path, s.flags...)
			r := twoRoads(t, s.features, linked, obj)
			if *update {
				s.write(t, r)
			}
			s.check(t, r)
			t.Run("pahole", func(t *testing.T) { s.compareWithPahole(t, linked, r) })
			if s.oneWay != "" || testing.Short() {
				return
			}
			for _, v := range variants {
				t.Run(v.name, func(t *testing.T) {
					obj, linked := compile(t, s.path, append(slices.Clone(s.flags), v.flags...)...)
					s.check(t, twoRoads(t, s.features, linked, obj))
				})
			}
		})
	}
}

// compareWithPahole compares our BTF with pahole's BTF of the linked file. pahole's BTF also has
// unreferenced base types, pointers and arrays, which have no lines.
func (s *source) compareWithPahole(t *testing.T, linked string, ours *link.Result) {
	if s.pahole != "" {
		t.Skip("SKIPPED: pahole differs: " + s.pahole)
	}
	out := linked + ".btf"
	programtest.Run(t, "", "pahole", "-J", "--btf_features="+s.features,
		"--btf_encode_detached="+out, linked)
	data := must.Get(os.ReadFile(out))(t)
	theirs := dump(t, data, false)
	if d := diff(dump(t, ours.BTF, false), theirs); d != "" {
		t.Errorf("-pahole +ours\n%s", d)
	}
}
