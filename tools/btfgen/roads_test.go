package main

import (
	"bytes"
	stddwarf "debug/dwarf"
	stdelf "debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"

	wire "github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// roadsFeatures are values of --features that differ in which functions and variables they select.
var roadsFeatures = []string{"default", "default,-consistent_func", "default,-optimized_func",
	"default,-consistent_func,-optimized_func", "default,true_signature",
	"default,true_signature,-optimized_func", "default,global_var", "none"}

// roadsCompilers and roadsLinkers are ways to build a program. What is not installed is left out.
var (
	roadsCompilers = []string{"gcc -O2", "gcc -O2 -gdwarf-4", "gcc -O0", "clang -O2",
		"clang -O2 -gdwarf-4", "clang -O0", "gcc -O2 -gbtf"}
	roadsLinkers = []string{"ld -e start", "ld -e start --gc-sections",
		"ld -e start --gc-sections -Ttext=0", "ld.lld -e start --gc-sections",
		"mold -e start --gc-sections", "ld -r"}
)

// TestRoads compares two ways to make BTF: btfgen elf for a linked file; and btfgen object for its
// objects, btfgen facts, and a link. The BTF and the list of --skipped must be the same. The DWARF
// and symbols of the linked file are the oracle: they show its functions and their prototypes.
func TestRoads(t *testing.T) {
	for p, program := range roadsPrograms {
		t.Run(program.name, func(t *testing.T) {
			t.Parallel()
			for c, compiler := range roadsCompilers {
				if program.dwarf && strings.Contains(compiler, "-gbtf") {
					continue
				}
				w := roadsBuild{T: t, dir: t.TempDir()}
				objects, ok := w.compile(compiler, program.sources)
				if !ok {
					continue
				}
				inputs := objects
				if program.archive != "" {
					inputs = w.archive(objects, strings.Fields(program.archive))
				}
				for i, linker := range slices.Concat(roadsLinkers, program.linkers) {
					if i < len(roadsLinkers) && (p+c+i)%2 != 0 {
						continue // half of the linkers suffice to test each program with each linker
					}
					if strings.HasPrefix(linker, "mold") && program.variables {
						continue // mold makes global symbols local, so global variables look static
					}
					w.what = compiler + ", " + linker
					linked := w.path(fmt.Sprint("linked", i))
					if w.run(linker+" -o "+linked, inputs...) {
						w.compareRoads(linked, objects)
					}
				}
			}
		})
	}
}

// roadsBuild is one program, built in a directory.
type roadsBuild struct {
	*testing.T
	dir  string
	what string // for messages
}

func (w roadsBuild) path(name string) string { return filepath.Join(w.dir, name) }

// run runs a command; it returns false if the program is not installed.
func (w roadsBuild) run(command string, args ...string) bool {
	w.Helper()
	words := append(strings.Fields(command), args...)
	if _, err := exec.LookPath(words[0]); err != nil {
		return false
	}
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		w.Fatalf("%s: %v: %v\n%s", w.what, words, err, out)
	}
	return true
}

// compile compiles each source, puts each function and variable into its own section, and returns
// the objects in the order of their names.
func (w roadsBuild) compile(compiler string, sources map[string]string) (objects []string,
	ok bool) {
	for name, text := range sources {
		source := w.path(name)
		if err := os.MkdirAll(filepath.Dir(source), 0o777); err != nil {
			w.Fatal(err)
		}
		if err := os.WriteFile(source, []byte(roadsHeader+text), 0o666); err != nil {
			w.Fatal(err)
		}
		object := strings.TrimSuffix(source, filepath.Ext(name)) + ".o"
		flags := " -g -c -ffunction-sections -fdata-sections -ffreestanding -fno-pic" +
			" -fno-asynchronous-unwind-tables -w -o "
		if strings.HasSuffix(name, ".S") && !strings.HasSuffix(name, "_g.S") ||
			strings.Contains(compiler, " -gbtf") {
			flags = strings.ReplaceAll(flags, " -g ", " ")
		}
		if !w.run(compiler+flags+object, source) {
			return nil, false
		}
		objects = append(objects, object)
	}
	slices.Sort(objects)
	return objects, true
}

// archive puts the objects of the given sources into an archive, and returns the linker's inputs.
func (w roadsBuild) archive(objects, sources []string) (inputs []string) {
	w.Helper()
	var members []string
	for _, o := range objects {
		source := strings.TrimPrefix(strings.TrimSuffix(o, ".o"), w.dir+"/") + ".c"
		if slices.Contains(sources, source) {
			members = append(members, o)
		} else {
			inputs = append(inputs, o)
		}
	}
	library := w.path("lib.a")
	if !w.run("ar rc "+library, members...) {
		w.Fatal("ar is not installed")
	}
	return append(inputs, library)
}

// compareRoads compares the two ways, with each value of roadsFeatures.
func (w roadsBuild) compareRoads(linked string, objects []string) {
	w.Helper()
	functions, structs := w.oracle(linked)
	for _, set := range roadsFeatures {
		flag := "--features=" + set
		if code, _, stderr := btfgen("elf", flag, "-o", w.path("btf"), "--skipped", w.path("skipped"),
			linked); code != 0 {
			w.Fatalf("%s, %s: %s", w.what, set, stderr)
		}
		want, skipped := read(w.T, w.path("btf")), string(read(w.T, w.path("skipped")))
		var parts []*object.Object
		for i, o := range objects {
			part := w.path(fmt.Sprint(i, ".btfo"))
			if code, _, stderr := btfgen("object", flag, "-o", part, o); code != 0 {
				w.Fatalf("%s, %s: %s", w.what, set, stderr)
			}
			read, err := object.ReadFile(part, nil)
			if err != nil {
				w.Fatal(err)
			}
			parts = append(parts, read)
		}
		if code, _, stderr := btfgen("facts", flag, "-o", w.path("facts"), linked); code != 0 {
			w.Fatalf("%s, %s: %s", w.what, set, stderr)
		}
		known, err := facts.Parse(bytes.NewReader(read(w.T, w.path("facts"))))
		if err != nil {
			w.Fatal(err)
		}
		res, err := link.Link(parts, link.Options{Facts: known, Features: parts[0].Features})
		if err != nil {
			w.Fatalf("%s, %s: %v", w.what, set, err)
		}
		var list bytes.Buffer
		if err := res.WriteSkipped(&list); err != nil {
			w.Fatal(err)
		}
		if list.String() != skipped {
			w.Errorf("%s, %s: skipped from objects:\n%sskipped from the linked file:\n%s", w.what, set,
				&list, skipped)
		}
		if !bytes.Equal(res.BTF, want) {
			w.Errorf("%s, %s: BTF from objects %v, from the linked file %v", w.what, set,
				roadsEncoded(w.T, res.BTF), roadsEncoded(w.T, want))
		}
		w.check(set, functions, want, skipped)
		encoded := roadsEncoded(w.T, want)
		for _, name := range structs {
			if _, ok := encoded[name]; !ok {
				w.Errorf("%s, %s: struct %s is not in the BTF of the linked file", w.what, set, name)
			}
		}
	}
}

// roadsFunction is a function in the linked file, as its DWARF describes it.
type roadsFunction struct {
	name, symbol string
	parameters   []string
}

// oracle returns the functions of a linked file, and the structs of its units. It omits a function
// unless a symbol at the function's entry has the function's name, with or without a suffix.
func (w roadsBuild) oracle(linked string) (list []roadsFunction, structs []string) {
	f, err := stdelf.Open(linked)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	if f.Type == stdelf.ET_REL || f.Section(".debug_info") == nil {
		return nil, nil // the oracle doesn't distinguish sections, and doesn't read BTF
	}
	d, err := f.DWARF()
	if err != nil {
		w.Fatal(err)
	}
	symbols, err := f.Symbols()
	if err != nil {
		w.Fatal(err)
	}
	entry := func(off stddwarf.Offset) (*stddwarf.Entry, *stddwarf.Reader) {
		r := d.Reader()
		r.Seek(off)
		e, err := r.Next()
		if err != nil {
			w.Fatal(err)
		}
		return e, r
	}
	for r := d.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			w.Fatal(err)
		}
		if e == nil {
			return list, structs
		}
		if name, ok := e.Val(stddwarf.AttrName).(string); ok && e.Tag == stddwarf.TagStructType {
			structs = append(structs, name)
		}
		ranges, err := d.Ranges(e)
		if e.Tag != stddwarf.TagSubprogram || err != nil || len(ranges) == 0 {
			continue
		}
		source, children := entry(e.Offset)
		for _, attr := range []stddwarf.Attr{stddwarf.AttrAbstractOrigin, stddwarf.AttrSpecification} {
			if off, ok := source.Val(attr).(stddwarf.Offset); ok {
				source, children = entry(off)
			}
		}
		fn := roadsFunction{}
		fn.name, _ = source.Val(stddwarf.AttrName).(string)
		for source.Children {
			c, err := children.Next()
			if err != nil {
				w.Fatal(err)
			}
			if c.Tag == 0 {
				break
			}
			if c.Tag == stddwarf.TagFormalParameter {
				t, _ := entry(c.Val(stddwarf.AttrType).(stddwarf.Offset))
				name, _ := t.Val(stddwarf.AttrName).(string)
				fn.parameters = append(fn.parameters, name)
			}
			if c.Tag == stddwarf.TagUnspecifiedParameters {
				fn.parameters = append(fn.parameters, "")
			}
			children.SkipChildren()
		}
		for _, s := range symbols {
			if stdelf.ST_TYPE(s.Info) != stdelf.STT_FUNC || s.Value != ranges[0][0] ||
				s.Section == stdelf.SHN_UNDEF {
				continue
			}
			base, suffix, _ := strings.Cut(s.Name, ".")
			if s.Value <= 1 { // a function that was dropped may have that address too
				continue
			}
			if base == fn.name && !strings.Contains(suffix, "part") && !strings.Contains(suffix, "cold") {
				fn.symbol = s.Name
				list = append(list, fn)
			}
		}
	}
}

// check compares a result with the oracle. Each function must be either encoded or listed, exactly
// once. An encoded function must have the prototype of the definition to which its symbol belongs.
// The BTF must be valid.
func (w roadsBuild) check(set string, functions []roadsFunction, raw []byte, skipped string) {
	w.Helper()
	blob, err := wire.Parse(raw, nil)
	if err != nil {
		w.Fatal(err)
	}
	for _, v := range verify.Check(blob, verify.Options{Sorted: true}) {
		w.Errorf("%s, %s: %v", w.what, set, v)
	}
	listed := map[string]int{}
	for line := range strings.Lines(skipped) {
		name, _, _ := strings.Cut(line, "\t")
		listed[name]++
	}
	encoded := roadsEncoded(w.T, raw)
	for name, parameters := range encoded {
		if parameters != nil {
			listed[name]++
		}
	}
	own := strings.Contains(set, "true_signature")
	for _, f := range functions {
		name := f.name
		if own {
			name = f.symbol
		}
		if listed[name] != 1 {
			w.Errorf("%s, %s: %s is encoded or listed %d times", w.what, set, name, listed[name])
		}
		got, ok := encoded[name]
		if ok && !own && !slices.Equal(got, f.parameters) {
			w.Errorf("%s, %s: %s has the parameters %v, want %v", w.what, set, name, got, f.parameters)
		}
	}
}

// roadsEncoded returns the names of all types. A function's value lists its parameters' types.
func roadsEncoded(t *testing.T, raw []byte) map[string][]string {
	t.Helper()
	spec, err := btf.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	encoded := map[string][]string{} // nil: no function
	for typ, err := range spec.All() {
		if err != nil {
			t.Fatal(err)
		}
		var parameters []string
		if f, ok := typ.(*btf.Func); ok {
			parameters = []string{}
			for _, p := range f.Type.(*btf.FuncProto).Params {
				parameters = append(parameters, p.Type.TypeName())
			}
		}
		encoded[typ.TypeName()] = parameters
	}
	return encoded
}
