package execlogtest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// Edits says what Large changes in a log of many actions.
type Edits struct {
	Header bool   // whether a header that all compilations read differs
	Random int    // how many compilations have different outputs
	Flag   string // an additional argument of all links; "" for none
	Order  uint64 // the seed for the order of actions within a layer
}

// Large makes a log of n actions like those of a kernel's build: for each source file, a
// compilation that reads 400 headers, and a conversion; for every 32 source files, a merge; and one
// link.
func Large(n int, e Edits) *Builder {
	b := New()
	bin := "bazel-out/k8-fastbuild/bin/"
	header := "int x;"
	if e.Header {
		header = "long x;"
	}
	var headers []uint32
	for i := range 400 {
		content := header
		if i > 0 {
			content = fmt.Sprint("header ", i)
		}
		headers = append(headers, b.File(fmt.Sprintf("include/linux/h%d.h", i), content))
	}
	common := b.Set(headers...)
	gcc := b.Set(b.File("external/gcc/bin/gcc", "gcc"), b.File("external/gcc/lib/cc1", "cc1"))
	btfgen := b.Set(b.File(bin+"tools/btfgen", "btfgen"))
	btfdedup := b.Set(b.File(bin+"tools/btfdedup", "btfdedup"))
	units := n * 100 / 204
	objects := make([]uint32, units)
	converted := make([]uint32, units)
	env := []execlog.Pair{{Name: "PATH", Value: "/bin:/usr/bin"}, {Name: "TZ", Value: "UTC"}}
	rnd := rand.New(rand.NewPCG(e.Order, 1))
	for _, i := range rnd.Perm(units) {
		content := fmt.Sprint("object ", i, header)
		if i*e.Random/units != (i+1)*e.Random/units {
			content += fmt.Sprint(e.Order)
		}
		name := fmt.Sprintf("drivers/d%d/f%d", i/50, i)
		objects[i] = b.File(bin+name+".o", content)
		source := b.File(name+".c", fmt.Sprint("source ", i))
		args := []string{"external/gcc/bin/gcc", "-c", name + ".c", "-o", bin + name + ".o"}
		for j := range 40 {
			args = append(args, fmt.Sprint("-Wflag", j))
		}
		b.Spawn(Spawn{Label: fmt.Sprintf("//drivers/d%d:f%d", i/50, i), Mnemonic: "CppCompile",
			Args: args, Env: env, Inputs: b.Union([]uint32{common, gcc}, source), Tools: gcc}, objects[i])
		converted[i] = b.File(bin+name+".o.btfo", "types of "+content)
	}
	for _, i := range rnd.Perm(units) {
		name := fmt.Sprintf("drivers/d%d/f%d", i/50, i)
		b.Spawn(Spawn{Label: "//:objects", Mnemonic: "BtfGen", Env: env,
			Args:   []string{bin + "tools/btfgen", "object", "@" + bin + name + ".o.btfo-0.params"},
			Inputs: b.Union([]uint32{btfgen}, objects[i]), Tools: btfgen},
			converted[i])
	}
	b.merges(n-2*units, converted, btfdedup, e.Flag)
	return b
}

// merges adds n actions: n-1 merges, and a link that reads all their outputs.
func (b *Builder) merges(n int, converted []uint32, tool uint32, flag string) {
	var merged []uint32
	for i := range n - 1 {
		parts := converted[len(converted)*i/(n-1) : len(converted)*(i+1)/(n-1)]
		content := ""
		for _, p := range parts {
			content += b.digests[p].Hash
		}
		out := b.File(fmt.Sprintf("bazel-out/k8-fastbuild/bin/merge%d.btfo", i), content)
		b.Spawn(Spawn{Label: "//:objects", Mnemonic: "BtfMerge", Args: []string{"merge"},
			Inputs: b.Union([]uint32{tool}, parts...), Tools: tool}, out)
		merged = append(merged, out)
	}
	content := flag
	for _, p := range merged {
		content += b.digests[p].Hash
	}
	b.Spawn(Spawn{Label: "//:vmlinux_btf", Mnemonic: "BtfLink", Args: []string{"link", flag},
		Inputs: b.Union([]uint32{tool}, merged...), Tools: tool},
		b.File("bazel-out/k8-fastbuild/bin/vmlinux_btf.btf", content))
}
