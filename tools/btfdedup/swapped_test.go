package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSwappedBase: if a base and its module are swapped, or a base is missing or superfluous, the
// error is one line that advises what to do.
func TestSwappedBase(t *testing.T) {
	dir := t.TempDir()
	_, base := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 32) })
	writeBTF(t, dir, "split.btf", base, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
	const (
		split = "split.btf: BTF at offset 0x24: the string section does not begin with a NUL " +
			"byte; this looks like split BTF: pass its base with --base"
		alone = "base.btf: BTF at offset 0x28: the string section begins with a NUL byte; " +
			"this looks like BTF without a base, such as the BTF of vmlinux: remove --base"
	)
	const own = "split.btf: its base has the same content: is the file its own base?"
	for _, verb := range []string{"verify", "link -o OUT", "merge -o OUT", "index -o OUT", "conflicts",
		"import -o OUT", "diff DIR/base.btf", "stats", "dump"} {
		for _, c := range []struct{ name, args, want string }{
			{"swapped", "--base DIR/split.btf DIR/base.btf", split},
			{"base forgotten", "DIR/split.btf", split},
			{"base for BTF that has none", "--base DIR/base.btf DIR/base.btf", alone},
			{"bases swapped", "--base DIR/split.btf --base DIR/base.btf DIR/split.btf", split},
			{"bases of one kind", "--base DIR/base.btf --base DIR/base.btf DIR/split.btf", alone},
			{"its own base", "--base DIR/base.btf --base DIR/split.btf DIR/split.btf", own},
			{"a base twice", "--base DIR/base.btf --base DIR/split.btf --base DIR/split.btf " +
				"DIR/split.btf", own},
		} {
			if c.want == own && verb == "diff DIR/base.btf" {
				continue
			}
			args := strings.NewReplacer("DIR", dir, "OUT", filepath.Join(dir, "out")).Replace(
				verb + " " + c.args)
			code, stdout, stderr := btfdedup(strings.Fields(args)...)
			if code != 1 || stdout != "" || !strings.Contains(stderr, c.want) ||
				strings.Count(stderr, "\n") != 1 {
				t.Errorf("%s, %s: exit code %d, %s%s\nwant %s", verb, c.name, code, stdout, stderr, c.want)
			}
		}
	}
}

// TestOtherBase: BTF is refused if it is evident that it was made on a different base.
func TestOtherBase(t *testing.T) {
	dir := t.TempDir()
	base, _ := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 32) })
	_, other := writeBTF(t, dir, "other.btf", nil, func(b *btf.Builder) { b.Int("A", 4, 0, 32) })
	// If split.btf is read with this base, the typedef's name begins in the middle of "int".
	split, _ := writeBTF(t, dir, "split.btf", other, func(b *btf.Builder) {
		b.Ref(btf.KindTypedef, "t", 1)
	})
	out := filepath.Join(dir, "out")
	module := moduleOf(t, split)
	ids := compileIDs(t, dir, "ids.ko", idsSource)
	const want = ": [2] TYPEDEF: a name is at string offset 3, where no string begins; was it made " +
		"with a different base? use that one\n"
	for _, c := range []string{
		"dump --base " + base + " " + split,
		"dump --format=c --base " + base + " " + module,
		"stats --base " + base + " " + split,
		"resolve-ids -o " + out + " --base " + base + " --btf " + split + " " + ids,
		"embed -o " + out + " --resolve-ids --base " + base + " --btf " + split + " " + ids,
		"embed -o " + out + " --resolve-ids --base " + base + " --btf " + split + " " + module,
	} {
		code, stdout, stderr := btfdedup(strings.Fields(c)...)
		if code != 1 || stdout != "" || !strings.Contains(stderr, want) ||
			strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d, %s%s", c, code, stdout, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%s: there is an output", c)
		}
	}
}

// TestDistilledAsBase: a module on a distilled base can't be a base, unless the kernel's BTF comes
// before the module. Then the module is relocated to the kernel, as the kernel itself does.
func TestDistilledAsBase(t *testing.T) {
	dir := t.TempDir()
	kernel, _ := writeBTF(t, dir, "kernel.btf", nil, func(b *btf.Builder) {
		b.Int("long", 8, 0, 64)
		b.Int("int", 4, 0, 32)
	})
	distilled, on := writeBTF(t, dir, "base.btf", nil, func(b *btf.Builder) { b.Int("int", 4, 0, 32) })
	own, _ := writeBTF(t, dir, "own.btf", on, func(b *btf.Builder) { b.Ref(btf.KindTypedef, "t", 1) })
	module := filepath.Join(dir, "module.ko")
	succeeds(t, "", "embed", "-o", module, "--btf", own, "--btf-base", distilled, moduleOf(t, kernel))
	below := must.Get(relocate.ReadBases([]string{kernel, module}))(t)
	third, _ := writeBTF(t, dir, "third.btf", below, func(b *btf.Builder) {
		b.Ref(btf.KindTypedef, "u", 3)
	})
	out := filepath.Join(dir, "out")
	for _, verb := range []string{"index -o OUT MODULE", "link -o OUT --base MODULE " + third,
		"dump --base MODULE " + third} {
		args := strings.NewReplacer("MODULE", module, "OUT", out).Replace(verb)
		code, _, stderr := btfdedup(strings.Fields(args)...)
		if code != 1 || !strings.Contains(stderr, "add a --base with a kernel's BTF before this "+
			"one") {
			t.Errorf("%s: exit code %d, %s", args, code, stderr)
		}
	}
	code, stdout, stderr := btfdedup("dump", "--base", kernel, "--base", module, third)
	if code != 0 || stdout != "[4] TYPEDEF 'u' type_id=3\n" {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
}
