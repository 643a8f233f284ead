package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestVerbs(t *testing.T) { clitest.Verbs(t, program) }

func TestUsage(t *testing.T) { clitest.Usage(t, program) }

func BenchmarkCommand(b *testing.B) { clitest.Bench(b, program) }

// TestOutputsAllOrNone tests the verbs that write several files.
func TestOutputsAllOrNone(t *testing.T) {
	dir := t.TempDir()
	ids := compileIDs(t, dir, "ids.o", idsSource)
	vmlinux, _ := writeBTF(t, dir, "vmlinux.btf", nil, idsTypes)
	sitesBTF(t, filepath.Join(dir, "all.btf"), binary.LittleEndian, nil)
	rawBTF(t, filepath.Join(dir, "object.btf"), "t", 8)
	base := must.Get(btf.ReadOne(vmlinux, nil))(t)
	own := func(b *btf.Builder) { b.Composite(btf.KindStruct, "own", 8, false) }
	module, _ := writeBTF(t, dir, "module.btf", base, own)
	p := func(name string) string { return filepath.Join(dir, name) }
	writeModule(t, module+".ko", "module", nil)
	must.OK(t, os.Link(module, module+".btf"))
	out := func(flag, name string) string { return flag + clitest.Out + "/" + name }
	clitest.AllOrNone(t, program,
		[]string{"link", out("-o", "btf"), out("--distilled-base=", "base"), "--base", vmlinux,
			module},
		[]string{"resolve-ids", out("-o", "elf"), out("--btf-out=", "btf"), "--btf", vmlinux, ids},
		[]string{"resolve-ids", out("-o", "elf"), out("--btf-out=", "btf"), out("--inline-out=", "sites"),
			"--btf", p("all.btf"), ids},
		[]string{"embed", out("-o", "ko"), out("--btf-out=", "embedded"), "--resolve-ids", "--btf", dir,
			"--base", vmlinux, module + ".ko"},
		[]string{"embed", out("-o", "elf"), out("--btf-out=", "btf"), "--resolve-ids", "--btf", vmlinux,
			ids},
		[]string{"archive", out("-o", "new"), "--release=1", "--vmlinux", vmlinux, module})
}
