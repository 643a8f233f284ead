package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// writeBTF writes a blob to a file and returns its path.
func writeBTF(t *testing.T, dir, name string, base *btf.Blob, build func(b *btf.Builder)) (string,
	*btf.Blob) {
	t.Helper()
	b := btf.NewBuilder(nil, base, nil)
	build(b)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	path := filepath.Join(dir, name)
	must.OK(t, os.WriteFile(path, data, 0o644))
	blob := must.Get(btf.Parse(data, base))(t)
	return path, blob
}

// btfdedup runs the program. The text from standard error lacks the line that says what was made.
func btfdedup(args ...string) (code int, stdout, stderr string) {
	return clitest.Execute(program, args...)
}

// row is a clitest.Row that can be written without the names of its fields, which go vet wants for
// types of other packages.
type row struct {
	Args           string
	Code           int
	Stdout, Stderr string
}

func (r row) run(t *testing.T, dir, command string) {
	t.Helper()
	clitest.Row(r).Run(t, program, dir, command)
}

// rows runs a command with the arguments of each row.
func rows(t *testing.T, dir, command string, list []row) {
	t.Helper()
	for _, r := range list {
		r.run(t, dir, command)
	}
}

var exactly = clitest.Whole

// runVerb runs the program and returns the exit code and what it printed on standard error.
func runVerb(args ...string) (int, string) {
	code, _, stderr := btfdedup(args...)
	return code, strings.TrimSpace(stderr)
}

// moduleOf writes a kernel module with the BTF of a file.
func moduleOf(t *testing.T, file string) string {
	t.Helper()
	data := must.Get(os.ReadFile(file))(t)
	return write(t, file+".ko", filetest.ELF(t,
		elfwrite.Section{Name: ".gnu.linkonce.this_module", Data: make([]byte, 64), Alloc: true},
		elfwrite.Section{Name: btf.SectionTypes, Data: data}))
}

func TestVerifyVerb(t *testing.T) {
	dir := t.TempDir()
	good, base := writeBTF(t, dir, "good.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		b.FuncProto(0, btf.Param{Type: 1})
		b.Func("f", 2, 0) // an anonymous parameter: only loading refuses it
	})
	bad, _ := writeBTF(t, dir, "bad.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 40)
		b.Ref(btf.KindTypedef, "1st", 1)
	})
	split, _ := writeBTF(t, dir, "split.btf", base, func(b *btf.Builder) { b.Ref(btf.KindPtr, "", 1) })
	inside, _ := writeBTF(t, dir, "inside.btf", base, func(b *btf.Builder) {
		b.Add(btf.Type{Kind: btf.KindTypedef, NameOff: 2, SizeOrType: 1}) // "nt" in "int"
	})
	cut, cutBase := writeBTF(t, dir, "cut.btf", nil, func(b *btf.Builder) {
		for _, name := range []string{"a", "", "c", "d"} {
			b.Enum(btf.KindEnum, name, 8, false, btf.Enumerator{NameOff: b.Name("X" + name), Value: 1})
		}
		b.Enum(btf.KindEnum64, "whole", 8, false, btf.Enumerator{NameOff: b.Name("Y"), Value: 1 << 40})
	})
	m, _ := writeBTF(t, dir, "m.btf", cutBase, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
	onCut := moduleOf(t, m)
	const isCut = "cut.btf: 4 enums have 8 bytes, but only the low 32 bits of their values (enum a, " +
		"enum with X, enum c, …): the encoder had no ENUM64 (pahole --skip_encoding_btf_enum64)\n"
	alone := moduleOf(t, good)
	text := filepath.Join(dir, "text")
	must.OK(t, os.WriteFile(text, []byte("no BTF at all\n"), 0o644))
	rows(t, dir, "verify", []row{
		{"--for=kernel " + good, 0, "", ""},
		{"--for=load " + good, 1, "[3] FUNC f: param-name: parameter 0 of a function must have a name\n",
			""},
		{bad, 1, "[1] INT int: int-bits: the bit offset 0 plus 40 bits exceeds the size of 4 bytes\n" +
			"[2] TYPEDEF 1st: name-invalid: the name \"1st\" is not an identifier" +
			" (letters, digits, _ and ., no digit first)\n", ""},
		{"--base " + good + " " + split, 0, "", ""},
		{cut, 0, "", isCut},
		{cut + " " + onCut, 0, "loads: ", isCut},
		{"--sorted --for=kernel " + good, 1, "[2] FUNC_PROTO (anon): order: ", ""},
		{"--for=kernel " + alone, 1, "stands-alone: it has no base, but is for a kernel module; ", ""},
		{"--for=kernel --base " + good + " " + inside, 0, "",
			"string begins; was it made with a different base? use that one\n"},
		{"--base " + good + " " + inside, 1, "[4] TYPEDEF nt: name-inside-string: name: offset 2 is " +
			"inside another string; ", inside + ": [4] TYPEDEF: a name is at string offset 2, where no " +
			"string begins; was it made with a different base? use that one\n"},
		{split, 1, "", "btfdedup: " + split + ": BTF at offset "},
		{text, 1, "", "btfdedup: " + text +
			": BTF at offset 0x0: no BTF magic 0xeb9f; it starts with \"no B\"; pass BTF, or a file " +
			"that contains BTF\n"},
		{dir + "/none", 1, "", "btfdedup: open " + dir + "/none: no such file or directory\n"},
		{"--for=me x", 2, "", `"me" for "--for" flag: must be kernel, load or all`},
	})
}

// TestVerifyLimit: a report of many violations shows the first ones, and how many more there are.
func TestVerifyLimit(t *testing.T) {
	many, _ := writeBTF(t, t.TempDir(), "many.btf", nil, func(b *btf.Builder) {
		for range 105 {
			b.Int("int", 4, 0, 40)
		}
	})
	for flag, last := range map[string]string{
		"":            "and 5 violations more (--limit=0 prints all)",
		"--limit=0":   "INT int: int-bits: the bit offset 0 plus 40 bits exceeds the size of 4 bytes",
		"--limit=104": "and 1 violation more (--limit=0 prints all)",
	} {
		_, stdout, _ := btfdedup(strings.Fields("verify " + flag + " " + many)...)
		if !strings.HasSuffix(stdout, last+"\n") {
			t.Errorf("%s: %d lines\n%s", flag, strings.Count(stdout, "\n"), stdout)
		}
	}
}

func TestDiffVerb(t *testing.T) {
	dir := t.TempDir()
	a, base := writeBTF(t, dir, "a.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
		b.Fwd("s",
			false)
	})
	same, _ := writeBTF(t, dir, "same.btf", nil,
		func(b *btf.Builder) { b.Fwd("s", false); b.Int("int", 4, 0, 0) })
	other, _ := writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) {
		b.Int("int", 8, 0, 0)
		b.Composite(btf.KindStruct, "s", 0, false)
	})
	split, _ := writeBTF(t, dir, "split.btf", base,
		func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
	whole, _ := writeBTF(t, dir, "whole.btf", nil, func(b *btf.Builder) {
		b.Fwd("s", false)
		b.Ref(btf.KindTypedef, "t", 3)
		b.Int("int", 4, 0, 0)
	})
	table := func(lines ...string) string {
		s := "\nkind          only in A  only in B  changed   compatible  follow-ups\n"
		for _, l := range lines {
			f := strings.Fields(l)
			s += fmt.Sprintf("%-12s%11s%11s%9s%13s%12s\n", f[0], f[1], f[2], f[3], f[4], f[5])
		}
		return s + "\n"
	}
	const (
		first  = "int int: size 4 → 8; 1 resized\n    size 32 bits → 64 bits\n\n"
		second = "forward: forward struct s: only in A\n"
		third  = "only in B: struct s\n"
		counts = "0 equal, 0 only in A, 1 only in B, 1 differ, 1 forward declaration," +
			" 0 differ only because of those (2 types in A, 2 in B)\n"
	)
	summary := counts + table("int 0 0 1 0 0", "struct 0 1 0 0 0", "fwd 1 0 0 0 0")
	differences := summary + first + second + third
	rows(t, dir, "diff", []row{
		{a + " " + same, 0, exactly("equal: 2 types compared (2 in A, 2 in B)\n"), ""},
		{a + " " + other, 1, exactly(differences), ""},
		{"--kinds=struct " + a + " " + other, 1,
			exactly("0 equal, 0 only in A, 1 only in B, 0 differ, 0 forward declarations," +
				" 0 differ only because of those (2 types in A, 2 in B)\n" + table("struct 0 1 0 0 0") +
				third), ""},
		{"--name=s " + a + " " + other, 1,
			exactly("0 equal, 0 only in A, 1 only in B, 0 differ, 1 forward declaration," +
				" 0 differ only because of those (2 types in A, 2 in B)\n" +
				table("struct 0 1 0 0 0", "fwd 1 0 0 0 0") + second + third), ""},
		{"--name=none " + a + " " + other, 1, "", `has a type with the name "none"`},
		{"--name=s --kinds=union " + a + " " + a, 1, "",
			`has a type with the name "s" and one of the kinds in --kinds`},
		{"--limit=0 " + a + " " + other, 1, exactly(differences), ""},
		{"--limit=3 " + a + " " + other, 1, exactly(differences), ""},
		{"--limit=1 " + a + " " + other, 1,
			exactly(summary + first + "2 more differences left out; --limit=0 prints all\n"), ""},
		{"--limit=2 " + a + " " + other, 1,
			exactly(summary + first + second + "\n1 more difference left out; --limit=0 prints " +
				"all\n"), ""},
		{"--limit=1 " + a + " " + same, 0, exactly("equal: 2 types compared (2 in A, 2 in B)\n"), ""},
		{"--limit=x " + a + " " + same, 2, "", "must be a number of differences"},
		{"--kinds=typedef,FUNC " + a + " " + other, 0,
			exactly("equal: 0 types compared (2 in A, 2 in B)\n"), ""},
		// in these two bases, the ids mean different types
		{"--base-a " + a + " --base-b " + same + " " + split + " " + split, 1, "only in ", ""},
		{"--base " + a + " " + split + " " + split, 0,
			exactly("equal: 1 type compared (1 in A, 1 in B)\n"), ""},
		{"--base-a " + a + " --kinds=typedef " + split + " " + whole, 0,
			exactly("equal: 1 type compared (1 in A, 3 in B)\n"), ""},
		{a + " " + dir + "/none", 1, "", "btfdedup: open "},
		{"--kinds=class " + a + " " + a, 2, "",
			`"class" for "--kinds" flag: unknown kind "class"; the kinds are int, ptr`},
		{"--format=xml " + a + " " + a, 2, "", `"xml" for "--format" flag: must be text or json`},
		{"--base x --base-a y " + a + " " + a, 2, "", "--base is for both sides"},
	})
}

func TestDiffVerbJSON(t *testing.T) {
	dir := t.TempDir()
	a, _ := writeBTF(t, dir, "a.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 0) })
	b, _ := writeBTF(t, dir, "b.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 1, 0) })
	var got struct {
		Equal       bool
		Differences []struct {
			Class, Kind string
			Changes     []struct {
				Kind          string
				Before, After struct{ Text string }
			}
		}
		Summary struct{ Differs int }
	}
	code, stdout, _ := btfdedup("diff", "--format=json", "--limit=1", a, b)
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err, stdout)
	}
	if code != 1 || got.Equal || len(got.Differences) != 1 ||
		len(got.Differences[0].Changes) != 1 || got.Differences[0].Kind != "int" ||
		got.Differences[0].Changes[0].After.Text != "signed" || got.Summary.Differs != 1 {
		t.Errorf("code %d\n%s", code, stdout)
	}
	code, stdout, _ = btfdedup("diff", "--format=json", a, a)
	if code != 0 || !strings.Contains(stdout, `"equal": true`) ||
		!strings.Contains(stdout, `"differences": []`) {
		t.Errorf("code %d\n%s", code, stdout)
	}
}

// TestDiffSets compares directories and archives of a kernel and its modules.
func TestDiffSets(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	for side, size := range map[string]uint32{"a": 4, "b": 8} {
		must.OK(t, os.Mkdir(p(side), 0o777))
		_, base := writeBTF(t, p(side), "vmlinux.btf", nil, func(b *btf.Builder) {
			b.Int("int", 4, btf.IntSigned, 0)
			b.Composite(btf.KindStruct, "s", size, false, btf.Member{NameOff: b.Name("i"), Type: 1})
		})
		for name, typ := range map[string]uint32{"same": 1, "holds": 2, "differs": size / 8, side: 1} {
			writeBTF(t, p(side), name+".btf", base, func(b *btf.Builder) {
				b.Ref(btf.KindTypedef, name+"_t", typ)
			})
		}
	}
	if code, _, stderr := btfdedup("archive", "-o", p("b.tar.zst"), "--release=7.2", "--vmlinux",
		p("b/vmlinux.btf"), p("b/same.btf"), p("b/holds.btf"), p("b/differs.btf"),
		p("b/b.btf")); code != 0 {
		t.Fatal(stderr)
	}
	const want = "1 equal, 0 only in A, 0 only in B, 1 differ, 0 forward declarations, " +
		`0 differ only because of those (2 types in A, 2 in B)

kind          only in A  only in B  changed   compatible  follow-ups
struct                0          0        1            0           0
modules: 1 only in A, 1 only in B, 1 differ, 1 differ only because of types to which they refer

struct s: size 4 → 8
    struct s {
        int i;                                       /*     0     4 */
-   };                                               /* size: 4 */
+   };                                               /* size: 8 */

module a: only in A
module b: only in B
module differs: 1 changed
module holds: 1 changed only because of others
`
	rows(t, dir, "diff", []row{
		{p("a") + " " + p("b"), 1, exactly(want), ""},
		{p("a") + " " + p("b.tar.zst"), 1, exactly(want), ""},
		{p("b.tar.zst") + " " + p("b"), 0, exactly("equal: 2 types compared (2 in A, 2 in B)\n"), ""},
		{p("a") + " " + p("b/same.btf"), 1, "",
			p("b/same.btf") + " is a file, but " + p("a") + " has the "},
		{p("a/same.btf") + " " + p("b"), 1, "",
			p("a/same.btf") + " is a file, but " + p("b") + " has the "},
		{"--base x " + p("a") + " " + p("b"), 2, "", "have their own bases"},
		{"--name t " + p("a") + " " + p("b"), 1, "", "has a type with the name"},
		{dir + " " + p("b"), 1, "", "has no file vmlinux or vmlinux.btf"},
	})
	_, stdout, _ := btfdedup("diff", "--format=json", p("a"), p("b"))
	var got struct {
		Modules []struct{ Name, Class string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || fmt.Sprint(got.Modules) !=
		"[{a only in A} {b only in B} {differs differs} {holds indirect}]" {
		t.Errorf("%v: %v", err, got)
	}
}
