package facts

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"

	ourelf "github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const head = "btffacts 4\nmachine 62 64 little\nsymfiles yes\nvariables percpu\nkfuncs listed\n"

const sample = head + `kfunc bpf_a 0x0
kfunc bpf_b 0x1004
addresses helper 2
global
func entry
func entry
var shared .data..percpu 16 4
file -
func linker.made
file a%20b%25.c
func f
file core.c
func f
func helper
var counter .data..percpu 0 8
var counter .data..percpu 8 8
file core.c
func f
func helper
var counter .data..percpu 24 8 00000000000000010123456789abcdef
end
`

func TestParseSample(t *testing.T) {
	f := must.Get(Parse(strings.NewReader(sample)))(t)
	if got := text(t, f); got != sample {
		t.Errorf("got\n%s\nwant\n%s", got, sample)
	}
	if f.Machine != elf.EM_X86_64 || f.AddrSize != 8 || f.BigEndian || !f.HasFiles {
		t.Errorf("head: %+v", f)
	}
	want := []Variable{
		{"counter", PerCPUSection, 0, 8, true, 2, types.Hash{}},
		{"counter", PerCPUSection, 8, 8, true, 2, types.Hash{}},
		{"shared", PerCPUSection, 16, 4, false, -1, types.Hash{}},
		{"counter", PerCPUSection, 24, 8, true, 3, types.Hash{A: 1, B: 0x0123456789abcdef}},
	}
	for i, o := range f.Vars {
		if o != want[i] {
			t.Errorf("object %d: %+v, want %+v", i, o, want[i])
		}
	}
	if f.Files[0].Name != "" || f.Files[1].Name != "a b%.c" {
		t.Errorf("names of files: %q, %q", f.Files[0].Name, f.Files[1].Name)
	}
}

func TestParseErrors(t *testing.T) {
	edit := func(old, new string) string {
		if !strings.Contains(sample, old) {
			t.Fatalf("the sample has no %q", old)
		}
		return strings.Replace(sample, old, new, 1)
	}
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "empty file, expected a file from btfgen facts"},
		{"something else", "\x7fELF\x02\n", `its first line is not "btffacts`},
		{"newer format", edit("btffacts 4", "btffacts 5"), "line 1: format 5 is not supported"},
		{"leading zero", edit("btffacts 4", "btffacts 04"), "line 1: \"04\" isn't a number"},
		{"machine too large", edit("machine 62", "machine 65536"), "line 2:"},
		{"address size", edit("62 64", "62 16"), "line 2: \"16\" is not one of 64, 32"},
		{"byte order", edit("little", "middle"), "line 2:"},
		{"word missing", edit(" little", ""), "line 2: \"machine\" is followed by 2 words, not 3"},
		{"yes or no", edit("symfiles yes", "symfiles maybe"), "line 3:"},
		{"line missing", edit("variables percpu\n", ""), "line 4: found \"kfuncs\", expected"},
		{"kfuncs unsorted", edit("kfunc bpf_a 0x0", "kfunc bpf_c 0x0"),
			"line 7: kfunc bpf_b is out of order"},
		{"kfunc twice", edit("kfunc bpf_a 0x0", "kfunc bpf_b 0x0"), "line 7:"},
		{"kfunc flags", edit("0x1004", "0x01004"), "line 7:"},
		{"kfunc flags, decimal", edit("0x1004", "4100"), "line 7:"},
		{"kfuncs where none can be", edit("kfuncs listed", "kfuncs absent"),
			"line 6: a kfunc is listed, but an earlier line says \"kfuncs absent\""},
		{"one address", edit("helper 2", "helper 1"), "line 8: the number of addresses is 1"},
		{"variables where none can be", edit("variables percpu", "variables none"),
			"line 12: a variable is listed, but an earlier line says"},
		{"functions unsorted", edit("func entry\n", "func fentry\n"),
			"line 11: func entry is out of order"},
		{"function after a variable", edit("16 4\n", "16 4\nfunc z\n"), "line 13:"},
		{"variables unsorted", edit("percpu 0 8", "percpu 9 8"), "line 21: var counter is out of order"},
		{"number too large", edit("percpu 0 8", "percpu 0 18446744073709551616"), "line 20:"},
		{"short hash", edit("89abcdef", "9abcdef"), "line 25: \"000000000000000101234567"},
		{"upper case hash", edit("89abcdef", "89ABcdef"), "line 25:"},
		{"signed hash", edit(" 0000000000000001", " +000000000000001"), "line 25:"},
		{"zero hash", edit("00000000000000010123456789abcdef", strings.Repeat("0", 32)), "line 25:"},
		{"hash of a global variable", edit("16 4\n", "16 4 "+strings.Repeat("1", 32)+"\n"),
			"line 12: \"var\" is followed by 5 words"},
		{"two hashes", edit("89abcdef", "89abcdef "+strings.Repeat("1", 32)), "line 25:"},
		{"files unsorted", edit("file core.c", "file d.c"),
			"line 26: the last two \"file\" lines, or the symbols after them, are in the wrong order"},
		{"empty file", edit("func linker.made\n", ""),
			"line 14: the last \"file\" line has no name, and no functions or variables follow it"},
		{"needless escape", edit("a%20b", "%61%20b"),
			"line 15: the name \"%61%20b%25.c\" has %61 for a character that needs no escape"},
		{"cut escape", edit("a%20b%25.c", "a%2"), "line 15:"},
		{"lower case escape", edit("a%20b%25.c", "a%0a"), "line 15:"},
		{"missing escape", edit("a%20b", "a\tb"), "line 15:"},
		{"two blanks", edit("func f", "func  f"), "line 16:"},
		{"carriage return", edit("func f\n", "func f\r\n"), "line 16:"},
		{"unknown line", edit("func f", "fun f"), "line 16: found \"fun\", expected"},
		{"no end", strings.TrimSuffix(sample, "end\n"), "line 26: the text ends before the line \"end\""},
		{"cut short", strings.TrimSuffix(sample, "d\n"), "line 26: the line has no newline"},
		{"after the end", sample + "end\n", "line 27: text after"},
		{"long line", edit("linker.made", strings.Repeat("x", maxLine)), "line 14: the line is longer"},
	} {
		f, err := Parse(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %+v, error %v; want one with %q", c.name, f, err, c.want)
		}
	}
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ name, token string }{
		{"f.isra.0", "f.isra.0"}, {"", "-"}, {"-", "%2D"}, {"--", "--"}, {"a b", "a%20b"}, {"%",
			"%25"}, {"\n\xff", "%0A%FF"},
	} {
		if got := string(appendToken(nil, c.name)); got != c.token {
			t.Errorf("%q is written %q, want %q", c.name, got, c.token)
		}
		if got, err := parseToken(c.token); err != nil || got != c.name {
			t.Errorf("%q is read as %q, %v; want %q", c.token, got, err, c.name)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(head + "global\nend\n"))
	f.Add([]byte("btffacts 4\nmachine 22 32 big\nsymfiles no\nvariables all\nkfuncs " +
		"off\naddresses x 3\nglobal\nvar - .bss 0 0\nend\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		facts, err := Parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		var out bytes.Buffer
		must.OK(t, facts.Write(&out))
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("read %q\nwrote %q", data, out.Bytes())
		}
	})
}

func FuzzExtract(f *testing.F) {
	for _, name := range []string{"testdata/small.elf", "testdata/kfuncs.o"} {
		data := must.Get(os.ReadFile(filepath.FromSlash(name)))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := ourelf.Parse("input", data)
		if err != nil {
			return
		}
		facts, err := Extract(file, defaults)
		if err != nil {
			return
		}
		var out bytes.Buffer
		must.OK(t, facts.Write(&out))
		again, err := Parse(&out)
		must.OK(t, err)
		requireSame(t, again, facts)
	})
}

// TestParseDocumentedExample reads the example of docs/facts.md.
func TestParseDocumentedExample(t *testing.T) {
	doc, err := os.ReadFile(filepath.FromSlash("../../../docs/facts.md"))
	if err != nil {
		t.Skip("SKIPPED: ", err)
	}
	_, example, ok := strings.Cut(string(doc), "```\nbtffacts")
	example, _, end := strings.Cut("btffacts"+example, "```")
	if !ok || !end {
		t.Fatal("docs/facts.md has no example")
	}
	f, err := Parse(strings.NewReader(example))
	must.OK(t, err)
	if got := text(t, f); got != example {
		t.Errorf("got\n%s\nwant\n%s", got, example)
	}
}
