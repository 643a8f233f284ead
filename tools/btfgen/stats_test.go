package main

import (
	"bytes"
	std "debug/dwarf"
	stdelf "debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	cilium "github.com/cilium/ebpf/btf"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/report"
)

// objects is a directory of files with DWARF, which the tests of other packages also use.
const objects = "../../internal/convert/testdata/objects"

// btfgen runs the command.
func btfgen(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = cli.Execute(program, args, nil, &o, &e)
	return code, o.String(), e.String()
}

// readStats reads statistics, which must have only known fields.
func readStats(t *testing.T, text []byte) *report.Stats {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	s := new(report.Stats)
	if err := d.Decode(s); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if d.More() {
		t.Errorf("something after the JSON object: %s", text)
	}
	return s
}

// kinds uses cilium/ebpf to count the types of each kind in raw BTF.
func kinds(t *testing.T, raw []byte) map[string]int {
	t.Helper()
	spec, err := cilium.LoadSpecFromReader(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatal(err)
		}
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
	f, err := stdelf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := f.DWARF()
	if err != nil {
		t.Fatal(err)
	}
	for r := d.Reader(); ; r.SkipChildren() {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return n
		}
		if e.Tag == std.TagCompileUnit {
			n++
		}
	}
}

func sum(m map[string]int) (n int) {
	for v := range maps.Values(m) {
		n += v
	}
	return n
}

func TestStats(t *testing.T) {
	for _, name := range []string{"lto-linked-gcc.elf", "lto-linked-clang.elf", "dwz.elf"} {
		t.Run(name, func(t *testing.T) {
			in, dir := filepath.Join(objects, name), t.TempDir()
			p := func(name string) string { return filepath.Join(dir, name) }
			code, stdout, stderr := btfgen("elf", "-o", p("plain.btf"), in)
			if code != 0 || stdout != "" || stderr != "" {
				t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
			}
			code, stdout, stderr = btfgen("elf", "-v", "-j3", "--stats="+p("stats.json"), "--skipped",
				p("skipped"), "-o", p("out.btf"), in)
			if code != 0 || stdout != "" {
				t.Fatalf("code %d\n%s\n%s", code, stdout, stderr)
			}
			for _, phase := range []string{"btfgen: facts: ", "btfgen: convert: ", "btfgen: link: ",
				"btfgen: elf: "} {
				if strings.Count(stderr, phase) != 1 {
					t.Errorf("--verbose didn't print exactly one line %q: %s", phase, stderr)
				}
			}
			raw := read(t, p("out.btf"))
			if !bytes.Equal(raw, read(t, p("plain.btf"))) {
				t.Error("--verbose and --stats change the output")
			}
			s := readStats(t, read(t, p("stats.json")))
			if s.Schema != report.Schema || s.Tool != "btfgen" || s.Verb != "elf" || s.Version == "" || s.Jobs != 3 {
				t.Errorf("the run is described as %+v", s)
			}
			written := len(raw) + len(read(t, p("skipped")))
			if s.Input.Files != 1 || s.Input.Bytes != int64(len(read(t, in))) ||
				s.Output.Bytes != int64(written) {
				t.Errorf("input %+v, output %+v", s.Input, s.Output)
			}
			if want := units(t, in); s.DWARF.Units != want || s.Shapes.Units != uint64(want) {
				t.Errorf("%d units were converted to %d; debug/dwarf finds %d", s.DWARF.Units, s.Shapes.Units,
					want)
			}
			if want := kinds(t, raw); !maps.Equal(s.Types.Kinds, want) {
				t.Errorf("kinds %v\ncilium/ebpf reads %v", s.Types.Kinds, want)
			}
			if n := sum(s.Types.Kinds); n != s.Types.Total {
				t.Errorf("%d types in all, the kinds add up to %d", s.Types.Total, n)
			}
			if s.Functions.Encoded != s.Types.Kinds["FUNC"] || s.Variables.Encoded != s.Types.Kinds["VAR"] {
				t.Errorf("%d functions and %d variables: %v", s.Functions.Encoded, s.Variables.Encoded,
					s.Types.Kinds)
			}
			skipped := map[string]int{}
			for line := range strings.Lines(string(read(t, p("skipped")))) {
				_, reason, _ := strings.Cut(strings.TrimSpace(line), "\t")
				skipped[reason]++
			}
			told := maps.Clone(s.Functions.Skipped)
			maps.Copy(told, s.Variables.Skipped)
			if !maps.Equal(told, skipped) {
				t.Errorf("skipped %v, --skipped has %v", told, skipped)
			}
			if s.Shapes.Held != s.Shapes.Repeats+uint64(s.Shapes.Roots) ||
				s.Shapes.Roots > s.Shapes.Distinct || s.Shapes.Roots == 0 {
				t.Errorf("shapes %+v don't add up", *s.Shapes)
			}
			checkTimes(t, s, "convert", "facts", "link")
			if m := s.Memory; m.PeakRSS < 1<<20 || m.PeakRSS > 1<<33 || m.Heap < 1<<20 || m.Allocated == 0 {
				t.Errorf("memory %+v", m)
			}
		})
	}
}

// checkTimes checks that the phases have these names, and take no longer than the run.
func checkTimes(t *testing.T, s *report.Stats, names ...string) {
	t.Helper()
	left := map[string]bool{}
	for _, n := range names {
		left[n] = true
	}
	const slack = 1e-3 // times are rounded
	for _, p := range s.Phases {
		if !left[p.Name] {
			t.Errorf("phase %s is not among the remaining ones, %v", p.Name, names)
		}
		delete(left, p.Name)
		if p.Start < 0 || p.Seconds < 0 || p.Start+p.Seconds > s.Seconds+slack {
			t.Errorf("phase %+v is outside of the run of %f s", p, s.Seconds)
		}
		in := 0.0
		for _, step := range p.Steps {
			in += step.Seconds
		}
		if in > p.Seconds+slack {
			t.Errorf("the steps of %+v take longer than the phase", p)
		}
		if (p.Name == "link") != (len(p.Steps) > 0) {
			t.Errorf("phase %+v: only the link has steps", p)
		}
	}
	if len(left) > 0 {
		t.Errorf("there is no phase %v", left)
	}
}

// TestStatsOfObject checks the counts of units that are left out, and of the types of a BTF object.
func TestStatsOfObject(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	in := filepath.Join(objects, "unencodable.o")
	code, stdout, stderr := btfgen("object", "--features=+skip_unencodable", "--stats=-", "-o", p("out.btfo"),
		in)
	if code != 0 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "warning: ") {
		t.Fatalf("code %d: %s", code, stderr)
	}
	s := readStats(t, []byte(stdout))
	if s.DWARF.Units != 0 || s.DWARF.Unencodable != 1 || s.Types.Total != 0 || s.Functions != nil {
		t.Errorf("statistics: %s", stdout)
	}
	quiet := p("quiet.btfo")
	if code, stdout, stderr := btfgen("object", "-q", "--features=+skip_unencodable", "-o", quiet,
		in); code != 0 || stdout+stderr != "" {
		t.Errorf("--quiet: code %d: %s%s", code, stdout, stderr)
	}
	if !bytes.Equal(read(t, p("out.btfo")), read(t, quiet)) {
		t.Error("--quiet changes the output")
	}
	if code, _, stderr := btfgen("object", "-q", "-o", quiet, in); code != 1 || stderr == "" {
		t.Errorf("--quiet hides an error: code %d, %q", code, stderr)
	}

	in = filepath.Join(objects, "machine-x86_64.o")
	code, stdout, stderr = btfgen("object", "--stats=-", "-o", p("out.btfo"), in)
	if code != 0 || stderr != "" {
		t.Fatalf("code %d: %s", code, stderr)
	}
	s = readStats(t, []byte(stdout))
	checkTimes(t, s, "convert", "write")
	f, err := stdelf.Open(p("out.btfo"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := f.Section(".BTF").Data()
	if err != nil {
		t.Fatal(err)
	}
	if want := kinds(t, raw); !maps.Equal(s.Types.Kinds, want) {
		t.Errorf("kinds %v\ncilium/ebpf reads %v", s.Types.Kinds, want)
	}
}

// TestStatsOfFacts checks the statistics of a verb that makes no types.
func TestStatsOfFacts(t *testing.T) {
	out := filepath.Join(t.TempDir(), "facts")
	code, stdout, stderr := btfgen("facts", "--stats=-", "-o", out, filepath.Join(objects, "dwz.elf"))
	if code != 0 || stderr != "" {
		t.Fatalf("code %d: %s", code, stderr)
	}
	s, lines := readStats(t, []byte(stdout)), strings.Split(string(read(t, out)), "\n")
	functions := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "func ") {
			functions++
		}
	}
	if s.Facts.Functions != functions || functions == 0 || s.Types != nil || s.DWARF != nil {
		t.Errorf("%d functions in the facts; statistics: %s", functions, stdout)
	}
	checkTimes(t, s, "facts")
}

// TestStatsDocumented: docs/run-statistics.md must describe every field.
func TestStatsDocumented(t *testing.T) {
	text := string(read(t, "../../docs/run-statistics.md"))
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if path != "" && typ.Kind() != reflect.Struct && !strings.Contains(path, "steps[]") &&
			!strings.Contains(text, "`"+path+"`") {
			t.Errorf("docs/run-statistics.md has no field `%s`", path)
		}
		switch typ.Kind() {
		case reflect.Slice:
			walk(typ.Elem(), path+"[]")
		case reflect.Struct:
			for f := range typ.Fields() {
				if f.Anonymous {
					walk(f.Type, path)
					continue
				}
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				walk(f.Type, strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
	walk(reflect.TypeFor[report.Stats](), "")
	if want := fmt.Sprintf("`schema` is %d.", report.Schema); !strings.Contains(text, want) {
		t.Errorf("docs/run-statistics.md doesn't say: %s", want)
	}
}

func TestStatsUsage(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	in := p("in.elf")
	if err := os.WriteFile(in, read(t, filepath.Join(objects, "dwz.elf")), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--stats=" + in, "-o", p("out")}, 2, "is also an input"},
		{[]string{"--stats=" + p("none/stats"), "-o", p("out")}, 1, "no such file"},
	} {
		code, stdout, stderr := btfgen(append(append([]string{"elf"}, tt.args...), in)...)
		if code != tt.code || stdout != "" || !strings.Contains(stderr, tt.want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v: code %d, want %d with %q: %s%s", tt.args, code, tt.code, tt.want, stdout, stderr)
		}
		if _, err := os.Stat(p("out")); err == nil {
			t.Errorf("%v left an output", tt.args)
			os.Remove(p("out"))
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
