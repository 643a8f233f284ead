package main

import (
	"bytes"
	std "debug/dwarf"
	stdelf "debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/support/message"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// objects is a directory of files with DWARF, which the tests of other packages also use.
const objects = "../../internal/convert/testdata/objects"

// btfgen runs the command.
func btfgen(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = cli.Execute(program, args, nil, &o, &e)
	return code, o.String(), e.String()
}

// kinds uses cilium/ebpf to count the types of each kind in raw BTF.
func kinds(t *testing.T, raw []byte) map[string]int {
	t.Helper()
	spec := must.Get(cilium.LoadSpecFromReader(bytes.NewReader(raw)))(t)
	names := map[string]string{
		"Int": "INT", "Pointer": "PTR", "Array": "ARRAY", "Struct": "STRUCT", "Union": "UNION",
		"Enum": "ENUM", "Fwd": "FWD", "Typedef": "TYPEDEF", "Volatile": "VOLATILE", "Const": "CONST",
		"Restrict": "RESTRICT", "Func": "FUNC", "FuncProto": "FUNC_PROTO", "Var": "VAR",
		"Datasec": "DATASEC", "Float": "FLOAT", "declTag": "DECL_TAG", "TypeTag": "TYPE_TAG",
	}
	counts := map[string]int{"ENUM64": 0}
	for _, name := range names {
		counts[name] = 0
	}
	for id := cilium.TypeID(1); ; id++ {
		typ, err := spec.TypeByID(id)
		if errors.Is(err, cilium.ErrNotFound) {
			return counts
		}
		must.OK(t, err)
		name := names[reflect.TypeOf(typ).Elem().Name()]
		if e, ok := typ.(*cilium.Enum); ok && e.Size == 8 {
			name = "ENUM64"
		}
		counts[name]++
	}
}

// units uses the standard library to count the compilation units of a file.
func units(t *testing.T, path string) (n int) {
	t.Helper()
	f := must.Get(stdelf.Open(path))(t)
	defer f.Close()
	d := must.Get(f.DWARF())(t)
	for r := d.Reader(); ; r.SkipChildren() {
		e := must.Get(r.Next())(t)
		if e == nil {
			return n
		}
		if e.Tag == std.TagCompileUnit {
			n++
		}
	}
}

// TestVerbose checks the numbers that --verbose prints.
func TestVerbose(t *testing.T) {
	for _, name := range []string{"lto-linked-gcc.elf", "lto-linked-clang.elf", "dwz.elf"} {
		t.Run(name, func(t *testing.T) {
			in, dir := filepath.Join(objects, name), t.TempDir()
			p := func(name string) string { return filepath.Join(dir, name) }
			code, stdout, stderr := btfgen("elf", "-o", p("plain.btf"), in)
			if code != 0 || stdout != "" || stderr != "" {
				t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
			}
			code, stdout, stderr = btfgen("elf", "-v", "-j3", "--skipped", p("skipped"), "-o",
				p("out.btf"), in)
			if code != 0 || stdout != "" {
				t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
			}
			raw := read(t, p("out.btf"))
			if !bytes.Equal(raw, read(t, p("plain.btf"))) {
				t.Error("--verbose changes the output")
			}
			counts, total := kinds(t, raw), 0
			for _, n := range counts {
				total += n
			}
			skipped := map[string]int{}
			for line := range strings.Lines(string(read(t, p("skipped")))) {
				_, reason, _ := strings.Cut(strings.TrimSpace(line), "\t")
				skipped[reason]++
			}
			for reason, n := range skipped {
				if text := fmt.Sprintf("%d %s", n, reason); !strings.Contains(stderr, text) {
					t.Errorf("no %q in %s", text, stderr)
				}
			}
			for _, want := range []string{"btfgen: facts: ",
				"btfgen: convert: " + message.Count(units(t, in), "unit"), "btfgen: elf: ",
				"btfgen: link: " + message.Count(total, "type") + ", ",
				", " + message.Count(counts["FUNC"], "function"),
				", " + message.Count(counts["VAR"], "variable"),
			} {
				if !strings.Contains(stderr, want) {
					t.Errorf("no %q in %s", want, stderr)
				}
			}
		})
	}
}

// TestVerboseOfObject checks the counts of units that are left out, and of the types of an object.
func TestVerboseOfObject(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	in := filepath.Join(objects, "unencodable.o")
	skip := "--features=+skip_unencodable"
	code, _, stderr := btfgen("object", "-v", skip, "-o", p("out.btfo"), in)
	if code != 0 || strings.Count(stderr, "warning: ") != 1 ||
		!strings.Contains(stderr, "convert: 0 units, 1 unit left out, ") ||
		!strings.Contains(stderr, "write: 0 types, ") {
		t.Errorf("code %d: %s", code, stderr)
	}
	quiet := p("quiet.btfo")
	code, stdout, stderr := btfgen("object", "-q", skip, "-o", quiet, in)
	if code != 0 || stdout+stderr != "" {
		t.Errorf("--quiet: code %d: %s%s", code, stdout, stderr)
	}
	if !bytes.Equal(read(t, p("out.btfo")), read(t, quiet)) {
		t.Error("--quiet changes the output")
	}
	if code, _, stderr := btfgen("object", "-q", "-o", quiet, in); code != 1 || stderr == "" {
		t.Errorf("--quiet hides an error: code %d, %q", code, stderr)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return data
}
