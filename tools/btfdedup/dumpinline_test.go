package main

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// TestDumpInline tests the flags for sites of inlined functions.
func TestDumpInline(t *testing.T) {
	dir := t.TempDir()
	writeBTF(t, dir, "inline.btf", nil, func(b *btf.Builder) {
		b.Locsec("inline.text", btf.Site{Func: b.Func("f", b.FuncProto(0), 0), LocProto: b.LocProto(),
			Offset: 0x2c})
	})
	rows(t, dir, "dump DIR/inline.btf", []row{
		{"--inline", 0, ".text+0x2c  f()\n", ""},
		{"--inline --name f", 0, ".text+0x2c  f()\n", ""},
		{"--inline --format=json", 0, `{"section":".text","offset":44,"function":"f","id":`, ""},
		{"--inline --name f --name g", 1, "", `inline.btf: no site of a function with the name "g"`},
		{"--inline --format=c", 2, "", "--inline and --format=c can't be used together"},
		{"--inline --format=kabi", 2, "", "--inline and --format=kabi can't be used together"},
		{"--format=json", 2, "", "--format=json needs --inline"},
		{"--elf DIR/inline.btf", 2, "", "--elf needs --inline"},
		{"--inline --elf DIR/inline.btf", 1, "", "not an ELF file"},
		{"--inline --elf DIR/missing", 1, "", "no such file"},
	})
	types, _ := writeBTF(t, dir, "types.btf", nil, func(b *btf.Builder) {
		b.Func("f", b.FuncProto(0), 0)
	})
	if code, stdout, stderr := btfdedup("dump", "--inline", types); code != 1 || stdout != "" ||
		!strings.Contains(stderr, "types.btf: no sites of inlined functions; btfgen inline makes") {
		t.Errorf("BTF without sites: exit code %d, %s%s", code, stdout, stderr)
	}
}

// TestDumpInlineELF names ELF files that aren't the one with the sites.
func TestDumpInlineELF(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	site := func(section string, offset uint32) func(b *btf.Builder) {
		return func(b *btf.Builder) {
			b.Locsec("inline"+section, btf.Site{Func: b.Func("f", b.FuncProto(0), 0),
				LocProto: b.LocProto(), Offset: offset})
		}
	}
	_, base := writeBTF(t, dir.Path(""), "base.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, 0, 0)
	})
	for _, c := range []struct {
		name, section string
		offset        uint32
	}{{"inside", ".text", 9}, {"between", ".text", 17}, {"before", ".text", 7}, {"last", ".text", 31},
		{"after", ".text", 32}, {"init", ".init.text", 0}} {
		writeBTF(t, dir.Path(""), c.name+".btf", base, site(c.section, c.offset))
	}
	writeBTF(t, dir.Path(""), "weak.btf", base, func(b *btf.Builder) {
		sites := []btf.Site{{Func: b.Func("f", b.FuncProto(0), 0), LocProto: b.LocProto(), Offset: 17}}
		for range 99 {
			sites = append(sites, btf.Site{Func: sites[0].Func, LocProto: sites[0].LocProto, Offset: 31})
		}
		b.Locsec("inline.text", sites...)
	})
	writeBTF(t, dir.Path(""), "one.btf", nil, site(".text", 9))
	dir.Write("x.s", `
		.skip 8; .type caller, @function; caller: .skip 8; .size caller, 8
		.skip 8; .type other, @function; other: .skip 8; .size other, 8
	`)
	dir.Run("gcc", "-nostdlib", "-r", "-o", dir.Path("x.o"), dir.Path("x.s"))
	for name, id := range map[string]string{"x": "0x0102", "same": "0x0102", "y": "0x0304"} {
		dir.Run("gcc", "-nostdlib", "-static", "-Wl,-e,0,--build-id="+id, "-o", dir.Path(name),
			dir.Path("x.o"))
	}
	dir.Run("strip", "-o", dir.Path("stripped"), dir.Path("x"))
	for _, name := range []string{"same", "y"} { // with the BTF of types, and with sites in it
		dir.Run("objcopy", "--add-section", ".BTF="+dir.Path("base.btf"), dir.Path(name),
			dir.Path(name+".base"))
		dir.Run("objcopy", "--add-section", ".BTF="+dir.Path("one.btf"), dir.Path(name),
			dir.Path(name+".one"))
	}
	const wrong = "DIR/x: it isn't the file with the sites in DIR/"
	for _, c := range []struct{ args, want string }{
		{"--elf DIR/x --base DIR/base.btf DIR/inside.btf", "caller+0x1  f()\n"},
		{"--elf DIR/x --base DIR/base.btf DIR/last.btf", "other+0x7  f()\n"},
		{"--elf DIR/x.o --base DIR/base.btf DIR/inside.btf", "caller+0x1  f()\n"},
		{"--elf DIR/stripped --base DIR/base.btf DIR/between.btf", ".text+0x11  f()\n"},
		{"--elf DIR/x --base DIR/same.base DIR/inside.btf", "caller+0x1  f()\n"},
		{"--elf DIR/x DIR/same.one", "caller+0x1  f()\n"},
		{"--elf DIR/x --base DIR/base.btf DIR/weak.btf",
			".text+0x11  f()\n" + strings.Repeat("other+0x7  f()\n", 99)},
		{"--elf DIR/x --base DIR/base.btf DIR/before.btf",
			wrong + "before.btf: sites in no function: 1 of 1, such as .text+0x7\n"},
		{"--elf DIR/x --base DIR/base.btf DIR/between.btf",
			wrong + "between.btf: sites in no function: 1 of 1, such as .text+0x11\n"},
		{"--elf DIR/x --base DIR/base.btf DIR/after.btf",
			wrong + "after.btf: section .text ends before .text+0x20 (its size is 0x20)\n"},
		{"--elf DIR/x --base DIR/base.btf DIR/init.btf", wrong + "init.btf: no section .init.text\n"},
		{"--elf DIR/x --base DIR/y.base DIR/inside.btf",
			wrong + "inside.btf: its build id is 0102, but that of DIR/y.base is 0304\n"},
		{"--elf DIR/x DIR/y.one", wrong + "y.one: its build id is 0102, but that of DIR/y.one is 0304\n"},
	} {
		args := strings.ReplaceAll("dump --inline "+c.args, "DIR", dir.Path(""))
		code, stdout, stderr := btfdedup(strings.Fields(args)...)
		got := strings.ReplaceAll(stdout+strings.TrimPrefix(stderr, "btfdedup: "), dir.Path(""), "DIR")
		want := 0
		if strings.HasPrefix(c.want, wrong) {
			want = 1
		}
		if code != want || got != c.want {
			t.Errorf("%s: exit code %d, %swant %s", c.args, code, got, c.want)
		}
	}
}
