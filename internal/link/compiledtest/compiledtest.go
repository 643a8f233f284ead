// Package compiledtest builds programs from C sources, makes their BTF from the linked file and from
// its objects, and reads from the DWARF which variables the BTF must have.
package compiledtest

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// Dir is a directory with the files of a program.
type Dir struct {
	programtest.Dir
	Features features.Set
	// ToObject and ToFacts convert a file and extract its facts.
	ToObject func(*elf.File, convert.Options) (*convert.Result, error)
	ToFacts  func(*elf.File, facts.Options) (*facts.Facts, error)
}

// Preamble defines PERCPU, for variables in the section of per-CPU variables, and MARK, for a
// declaration tag if the compiler has them.
const Preamble = `
#define PERCPU __attribute__((section(".data..percpu"), used))
#if defined(__has_attribute)
#if __has_attribute(btf_decl_tag)
#define MARK __attribute__((btf_decl_tag("mark")))
#endif
#endif
#ifndef MARK
#define MARK
#endif
`

// Script is a linker script that keeps per-CPU variables in their own section, like the kernel's.
// Link writes it to link.lds.
const Script = `SECTIONS {
	. = 0x100000;
	.text : { *(.text .text.*) }
	.rodata : { *(.rodata .rodata.*) }
	.data..percpu : { *(.data..percpu) }
	.data : { *(.data .data.*) }
	.bss : { *(.bss .bss.*) }
}
`

// Compile makes an object of each source, after the Preamble, and returns the objects' names,
// sorted. The command may have flags.
func (d Dir) Compile(command string, sources map[string]string) (objects []string) {
	d.Helper()
	words := strings.Fields(command)
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		d.Write(name, Preamble+sources[name])
		objects = append(objects, strings.TrimSuffix(name, ".c")+".o")
		d.Run(words[0], append(slices.Clone(words[1:]), "-g", "-c", "-ffreestanding", "-fno-pic",
			"-o", objects[len(objects)-1], name)...)
	}
	return objects
}

// Link makes an executable, and returns its name.
func (d Dir) Link(out string, objects ...string) string {
	d.Helper()
	d.Write("link.lds", Script)
	d.Run("ld", append([]string{"-T", "link.lds", "-e", "0", "-o", out}, objects...)...)
	return out
}

// Open opens a file until the test ends.
func (d Dir) Open(name string) *elf.File {
	d.Helper()
	f, err := elf.Open(d.Path(name))
	if err != nil {
		d.Fatal(err)
	}
	d.Cleanup(func() { f.Close() })
	return f
}

// Convert returns the object that a file gives.
func (d Dir) Convert(name string) *object.Object {
	d.Helper()
	o, err := d.ToObject(d.Open(name), convert.Options{Features: d.Features, Jobs: 2})
	if err != nil {
		d.Fatal(err)
	}
	return o.Object
}

// Facts returns the facts of a linked file.
func (d Dir) Facts(name string) *facts.Facts {
	d.Helper()
	known, err := d.ToFacts(d.Open(name), facts.Options{Features: d.Features})
	if err != nil {
		d.Fatal(err)
	}
	return known
}

// Inputs returns the facts of a linked file and the objects that its object files give. They are
// written and read again.
func (d Dir) Inputs(linked string, objects ...string) (*facts.Facts, []*object.Object) {
	d.Helper()
	var text bytes.Buffer
	if err := d.Facts(linked).Write(&text); err != nil {
		d.Fatal(err)
	}
	known, err := facts.Parse(&text)
	if err != nil {
		d.Fatal(err)
	}
	var parts []*object.Object
	for _, name := range objects {
		data, err := object.Write(d.Convert(name), 1)
		if err != nil {
			d.Fatal(err)
		}
		path := filepath.Join(d.TempDir(), "object.btfo")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			d.Fatal(err)
		}
		o, err := object.ReadFile(path, nil)
		if err != nil {
			d.Fatal(err)
		}
		parts = append(parts, o)
	}
	return known, parts
}

// Result is the result of a link, with the parsed BTF.
type Result struct {
	*link.Result
	Blob *btf.Blob
}

// LinkBTF links objects, with the directory's features. The base is the parameter on, or nil.
func (d Dir) LinkBTF(opt link.Options, on *btf.Blob, objects ...*object.Object) Result {
	d.Helper()
	opt.Features, opt.Jobs = d.Features, 2
	if on != nil {
		below, err := base.Parse(on)
		if err != nil {
			d.Fatal(err)
		}
		opt.Base = below
	}
	res, err := link.Link(objects, opt)
	if err != nil {
		d.Fatal(err)
	}
	blob, err := btf.Parse(res.BTF, on)
	if err != nil {
		d.Fatal(err)
	}
	return Result{res, blob}
}

// Graph links the objects that object files give, with the facts of a linked file.
func (d Dir) Graph(linked string, objects ...string) Result {
	d.Helper()
	known, parts := d.Inputs(linked, objects...)
	return d.LinkBTF(link.Options{Facts: known}, nil, parts...)
}

// Roads makes the BTF of a linked file in two ways: from the file alone, and from its objects. The
// results must be the same.
func (d Dir) Roads(linked string, objects ...string) Result {
	d.Helper()
	direct := d.LinkBTF(link.Options{Facts: d.Facts(linked)}, nil, d.Convert(linked))
	graph := d.Graph(linked, objects...)
	if !bytes.Equal(direct.BTF, graph.BTF) || !slices.Equal(direct.Skipped, graph.Skipped) {
		d.Errorf("%s: the objects and the linked file give different BTF: %v and %v\nskipped %q and %q",
			linked, d.Variables(graph.Blob), d.Variables(direct.Blob), graph.Skipped, direct.Skipped)
	}
	return direct
}
