package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/pipeline"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// wrongBases are kernels for which the module of TestWrongBase was not built, except for the first.
// Each is compiled from kernelSource, and changes the types, the machine or the release.
var wrongBases = []struct{ name, release, more, flag string }{
	{name: "own", release: "7.2.0-a"},
	{name: "rebuilt", release: "7.2.0-a", more: "struct aa { long ab; } aa; int ac(struct aa *a);"},
	{name: "release", release: "7.2.0-b"},
	{name: "arm64", release: "7.2.0-a",
		more: "struct pt_regs { union { struct { long pc; }; }; long orig_x0; } regs;"},
	{name: "i386", release: "7.2.0-a", more: "struct aa { long ab; } aa;", flag: "-m32"},
	{name: "changed", release: "7.2.0-a", flag: "-DFIELD=char"},
	{name: "program", flag: "-DWITHOUT_KERNEL"},
}

// kernelSource has 64 structs whose content depends on FIELD. A module that includes it defines
// them too.
func kernelSource(more string) string {
	s := "struct any { long l; } any;\n#ifndef WITHOUT_KERNEL\n" +
		"#ifndef FIELD\n#define FIELD int\n#endif\n"
	for i := range 64 {
		s += fmt.Sprintf("struct k%d { struct k%d *next; FIELD f; long g; };\n", i, (i+1)%64)
		s += fmt.Sprintf("struct k%d v%d;\n", i, i)
	}
	return s + more + `
enum state { OFF, ON };
typedef int (*open_t)(struct k0 *k, enum state s);
int register_open(open_t open, struct k0 *k) { return open(k, ON); }
#endif
`
}

// makeKernels writes the kernels as NAME (an ELF file with .BTF and a banner) and NAME.btf (raw).
func makeKernels(t *testing.T, dir programtest.Dir) {
	for _, k := range wrongBases {
		dir.Write("k.c", kernelSource(k.more)+"const char linux_banner[] = \"Linux version "+k.release+
			" (user@host) (gcc) #1 SMP\\n\";\n")
		args := strings.Fields("-g -O2 -nostdlib -static -Wl,-e,0 -o " + k.name + ".linked k.c " + k.flag)
		dir.Run("gcc", args...)
		linked, raw := dir.Path(k.name+".linked"), dir.Path(k.name+".btf")
		made := must.Get(pipeline.Linked(linked, pipeline.How{Files: &debugfile.Search{},
			Bases: &base.Files{}}))(t)
		dir.Write(k.name+".btf", string(made.BTF))
		succeeds(t, "", "embed", "-o", dir.Path(k.name), "--btf", raw, linked)
		succeeds(t, "", "index", "-o", dir.Path(k.name+".btfbase"), raw)
	}
}

// TestWrongBase gives each verb the wrong base. A certain mistake is an error in one line, without
// an output. If a base is probably wrong, there is a warning.
func TestWrongBase(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	makeKernels(t, dir)
	own := ""
	for i := range 120 {
		own += fmt.Sprintf("struct own%d { int i; } own%d;\n", i, i)
	}
	dir.Write("m.c", kernelSource("")+own+`
asm(".pushsection .BTF_ids,\"a\"\n__BTF_ID__func__use__1: .zero 4\n.popsection");
struct own { struct k1 k; char name[20]; } own;
int use(struct own *o, struct k2 *k) { return o->k.g + k->g; }
__attribute__((section(".modinfo"))) char magic[] = "name=m\0vermagic=7.2.0-a SMP mod_unload ";
__attribute__((section(".gnu.linkonce.this_module"))) char this[64];
`)
	dir.Run("gcc", "-g", "-O2", "-c", "-o", "dwarf.ko", "m.c")
	makeBTF(t, dir.Path("out"), []string{dir.Path("own.btf")}, dir.Path("dwarf.ko"))
	succeeds(t, "", "embed", "--btf", dir.Path("out"), "-o", dir.Path("embedded"),
		dir.Path("dwarf.ko"))
	paths := strings.NewReplacer("MODULE", dir.Path("embedded/dwarf.ko"),
		"RAW", dir.Path("out/dwarf.btf"), "OUT", dir.Path("new"))
	const (
		content = "was it made with a different base?"
		release = "it was built for the kernel 7.2.0-a, but the base is the BTF of 7.2.0-b\n"
		machine = "it is for EM_X86_64, but the base is for EM_AARCH64; use the BTF of the kernel"
		size    = "it is 64-bit, but the base is 32-bit; use the BTF of the kernel"
		kernel  = "own: it is the kernel 7.2.0-a, not 7.2.0-b; set --release, or"
		x86     = "it is for EM_X86_64, but vmlinux is for EM_AARCH64"
		bits    = "it is 64-bit, but vmlinux is 32-bit"
	)
	for _, c := range []struct {
		verbs []string
		bases map[string]string // by base: what the verb prints, "" if the base fits
	}{
		{[]string{"dump MODULE", "stats MODULE", "diff MODULE MODULE", "resolve-ids -o OUT MODULE",
			"embed -o OUT --resolve-ids --btf RAW MODULE", "verify MODULE"},
			map[string]string{"own": "", "own.btf": "", "rebuilt.btf": content, "release": release,
				"release.btf": "", "arm64.btf": machine, "i386.btf": size}},
		{[]string{"dump RAW", "stats RAW", "link -o OUT RAW", "link -o OUT MODULE",
			"merge -o OUT MODULE", "conflicts MODULE", "import -o OUT MODULE"},
			map[string]string{"own": "", "own.btf": "", "rebuilt.btf": content, "release": "",
				"arm64.btf": content, "i386.btf": content}},
		{[]string{"archive -o OUT --release 7.2.0-a MODULE"},
			map[string]string{"own": "", "own.btf": "", "rebuilt.btf": content, "arm64.btf": x86,
				"i386.btf": bits, "program.btf": content}},
		{[]string{"archive -o OUT --release 7.2.0-b MODULE"},
			map[string]string{"own": kernel, "own.btf": release}},
		{[]string{"archive -o OUT --release 7.2.0-b RAW"}, map[string]string{"own.btf": ""}},
	} {
		for _, verb := range c.verbs {
			for base, want := range c.bases {
				if out := dir.Path("new"); os.RemoveAll(out) != nil {
					t.Fatal(out)
				}
				name, rest, _ := strings.Cut(verb, " ")
				flag := " --base "
				if name == "archive" {
					flag = " --vmlinux "
				}
				args := name + flag + dir.Path(base) + " " + paths.Replace(rest)
				code, stdout, stderr := btfdedup(strings.Fields(args)...)
				warned := slices.Contains([]string{"", release}, want)
				_, err := os.Stat(dir.Path("new"))
				few := strings.Count(stderr, "\n") <= 1+strings.Count(verb, "MODULE")
				switch wrote := stdout != "" || err == nil; {
				case warned != (code == 0) || !strings.Contains(stderr, want) ||
					(want == "") != (stderr == "") || !few:
					t.Errorf("%s: exit code %d, %s\nwant %q", args, code, stderr, want)
				case warned != wrote && name != "verify":
					t.Errorf("%s: output: %v", args, wrote)
				}
			}
		}
	}
}

// TestRightDistilledBase: a module with a distilled base is for several releases.
func TestRightDistilledBase(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	p := dir.Path
	dir.Write("k.c", "int i; const char linux_banner[] = \"Linux version 7.2.1 (user@host)\";")
	dir.Run("gcc", "-nostdlib", "-static", "-Wl,-e,0", "-o", "linked", "k.c")
	integer := func(b *btf.Builder) { b.Int("int", 4, btf.IntSigned, 32) }
	kernel, below := writeBTF(t, p(""), "kernel.btf", nil, func(b *btf.Builder) {
		integer(b)
		b.Int("long int", 8, btf.IntSigned, 64)
	})
	succeeds(t, "", "embed", "-o", p("vmlinux"), "--btf", kernel, p("linked"))
	dir.Write("m.c", `__attribute__((section(".modinfo"))) char m[] = "vermagic=7.2.0 SMP ";`)
	dir.Run("gcc", "-c", "-o", "linked.ko", "m.c")
	distilled, on := writeBTF(t, p(""), "base.btf", nil, integer)
	typedef := func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) }
	direct, _ := writeBTF(t, p(""), "direct.btf", below, typedef)
	own, _ := writeBTF(t, p(""), "own.btf", on, typedef)
	for _, c := range []struct {
		args    []string
		warning string
	}{
		{[]string{"--btf", direct},
			"it was built for the kernel 7.2.0, but the base is the BTF of 7.2.1"},
		{[]string{"--btf", own, "--btf-base", distilled}, ""},
	} {
		succeeds(t, "", append([]string{"embed", "-o", p("m.ko"), p("linked.ko")}, c.args...)...)
		succeeds(t, c.warning, "verify", "--base", p("vmlinux"), p("m.ko"))
		succeeds(t, c.warning, "dump", "-o", p("text"), "--base", p("vmlinux"), p("m.ko"))
	}
}

// TestOtherModule embeds the BTF of one module in another, and in a module for another kernel.
func TestOtherModule(t *testing.T) {
	programtest.Need(t, "gcc")
	dir := programtest.NewDir(t)
	p := dir.Path
	kernel, below := writeBTF(t, p(""), "kernel.btf", nil, func(b *btf.Builder) {
		b.Int("int", 4, btf.IntSigned, 32)
	})
	other, _ := writeBTF(t, p(""), "other.btf", below, func(b *btf.Builder) {
		b.Func("other", 3, btf.LinkageGlobal)
		b.FuncProto(0)
	})
	const source = `int use(void) { return 1; }
		__attribute__((section(".gnu.linkonce.this_module"))) char this[64];
		__attribute__((section(".modinfo"))) char m[] = "vermagic=RELEASE SMP ";`
	for _, release := range []string{"7.2.0", "7.2.1"} {
		dir.Write("m.c", strings.ReplaceAll(source, "RELEASE", release))
		dir.Write(release+"/m.ko", "")
		dir.Run("gcc", "-g", "-c", "-o", release+"/m.ko", "m.c")
	}
	own := p("7.2.0/m.ko")
	makeBTF(t, p("out"), []string{kernel}, own)
	succeeds(t, "", "embed", "-o", p("new.ko"), "--btf", p("out/m.btf"), "--resolve-ids", "--base",
		kernel, own)
	succeeds(t, "m.ko: it has none of the functions that "+other+" describes (1 were looked up)",
		"embed", "-o", p("new.ko"), "--btf", other, "--resolve-ids", "--base", kernel, own)
	chain := []string{"--resolve-ids", "--base", kernel, "--base", other, own}
	makeBTF(t, p("chain"), []string{kernel, other}, own)
	succeeds(t, "there are 2 bases, but the kernel refuses", append([]string{"embed", "-o",
		p("new.ko"), "--btf", p("chain/m.btf")}, chain...)...)
	succeeds(t, "there are 2 bases, but the kernel refuses", append([]string{"embed", "-o",
		p("embedded"), "--btf", p("chain")}, chain...)...)
}
