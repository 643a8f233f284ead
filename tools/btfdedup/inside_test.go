package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestInside runs the verbs that print what BTF contains: on raw BTF, on ELF files, and on a module
// with its base.
func TestInside(t *testing.T) {
	dir := t.TempDir()
	p := func(name string) string { return filepath.Join(dir, name) }
	read := func(path string) string {
		data := must.Get(os.ReadFile(path))(t)
		return string(data)
	}
	vmlinux, base := writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Composite(btf.KindStruct, "task_struct", 4, false, btf.Member{NameOff: b.Name("pid"), Type: 1})
	})
	module, _ := writeBTF(t, dir, "module.btf", base, func(b *btf.Builder) {
		b.Ref(btf.KindTypedef, "task_t", 2)
	})
	elf := elfFile(t, p("vmlinux"), false, ".BTF", read(vmlinux))
	ko := elfFile(t, p("own.ko"), true, ".BTF", read(module), ".BTF.base", read(vmlinux))
	cycle, _ := writeBTF(t, dir, "cycle.btf", nil, func(b *btf.Builder) {
		b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("s"), Type: 1})
	})

	const task = "[2] STRUCT 'task_struct' size=4 vlen=1\n\t'pid' type_id=1 bits_offset=0\n"
	const taskC = "struct task_struct {\n\tint pid;\n};\n"
	rows(t, dir, "", []row{
		{"dump " + vmlinux, 0, "encoding=SIGNED\n" + task, ""},
		{"dump --name task_struct " + elf, 0, task, ""},
		{"dump --base " + vmlinux + " " + module, 0, "[3] TYPEDEF 'task_t' type_id=2\n", ""},
		{"dump " + ko, 0, "[3] TYPEDEF 'task_t' type_id=2\n", ""},
		{"dump --format=c " + elf, 0, taskC, ""},
		{"dump --format=c --name=task_t " + ko, 0,
			taskC + "\ntypedef struct task_struct task_t;\n", ""},
		{"stats " + elf, 0, "2 types, ids 1 to 2; 4 strings\n", ""},
		{"stats --base=" + vmlinux + " " + module, 0, "The base has 2 types", ""},
	})

	for _, c := range []row{
		{"dump --name task_strukt " + vmlinux, 1, "",
			vmlinux + `: no type has the name "task_strukt"`},
		{"dump --format=d " + vmlinux, 2, "", `"d" for "--format" flag: must be raw, c, kabi or json`},
		{"stats --format=c " + vmlinux, 2, "", `"c" for "--format" flag: must be text or json`},
		{"stats --limit=-1 " + vmlinux, 2, "",
			`"-1" for "--limit" flag: must be a number of types, at least 0`},
		{"dump " + module, 1, "", "pass its base with --base"},
		{"dump --format=c " + cycle, 1, "",
			"BTF type [1] STRUCT s: it contains itself, which C doesn't allow"},
	} {
		old := file(t, p("out"), "old")
		c.Args += " -o " + old
		c.run(t, dir, "")
		if read(old) != "old" {
			t.Errorf("%s: the output has changed", c.Args)
		}
	}
}

// TestStatsJSON checks the counts in the JSON output of stats.
func TestStatsJSON(t *testing.T) {
	path, _ := writeBTF(t, t.TempDir(), "a.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
		b.Ref(btf.KindTypedef, "t", 1)
	})
	code, stdout, stderr := btfdedup("stats", "--format=json", path)
	var got struct {
		Schema, Bytes int
		Types         struct {
			Total int
			Kinds []struct {
				Kind  string
				Types int
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatal(code, stderr, err)
	}
	info := must.Get(os.Stat(path))(t)
	if got.Schema != 1 || got.Bytes != int(info.Size()) || got.Types.Total != 2 ||
		len(got.Types.Kinds) != 2 || got.Types.Kinds[0].Kind != "INT" {
		t.Error(stdout)
	}
}

// TestControlCharacters: no name is printed with characters that move the cursor or begin a line.
func TestControlCharacters(t *testing.T) {
	const odd = "odd\x1b[2J\n[9] x\u009b\xff"
	dir := t.TempDir()
	vmlinux, base := writeBTF(t, dir, "vmlinux.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 0)
	})
	module := func(name, last string) string {
		path, _ := writeBTF(t, dir, name, base, func(b *btf.Builder) {
			b.Float(odd, 4)
			b.Ref(btf.KindTypedef, odd, b.Ref(btf.KindPtr, "", b.Ref(btf.KindTypeTag, odd, 1)))
			e := b.Enum(btf.KindEnum, odd, 4, false, btf.Enumerator{NameOff: b.Name(odd + "E")})
			b.Composite(btf.KindStruct, odd, 8, false, btf.Member{NameOff: b.Name(odd), Type: e},
				btf.Member{NameOff: b.Name(odd + last), Type: 1, Offset: 32})
			v := b.Var(odd, 1, btf.LinkageGlobal)
			b.DeclTag(odd, v, btf.DeclTagWhole)
			b.Datasec("."+odd, 4, btf.Secinfo{Type: v, Size: 4})
			b.Func(odd, b.FuncProto(0, btf.Param{NameOff: b.Name(odd), Type: 1}), btf.LinkageGlobal)
			b.Composite(btf.KindUnion, odd+"in both", 4, false, btf.Member{NameOff: b.Name(odd), Type: 1})
		})
		return path
	}
	one, two := module("one.btf", "1"), module("two.btf", "2")
	both := []string{"--base", vmlinux, one, two}
	for _, args := range [][]string{
		append([]string{"dump"}, both[:3]...),
		append([]string{"dump", "--format=c"}, both[:3]...),
		append([]string{"dump", "--name", "odd"}, both[:3]...),
		append([]string{"dump", "--name", odd + "?"}, both[:3]...),
		append([]string{"stats"}, both[:3]...),
		append([]string{"diff", "--base-a", vmlinux, "--base-b", vmlinux}, both[2:]...),
		append([]string{"verify"}, both...),
		append([]string{"conflicts"}, both...),
		append([]string{"link", "-v", "-o", dir + "/out.btf"}, both...),
	} {
		_, stdout, stderr := btfdedup(args...)
		text := stdout + stderr
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
			return r != '\n' && r != '\t' && !strconv.IsPrint(r)
		}) || strings.Contains(text, "\n[9] x") {
			t.Errorf("%s: %q", args[0], text)
		}
		if !strings.Contains(text, "odd") && args[0] != "link" {
			t.Errorf("%s: no name in %q", args, text)
		}
	}
}
