package compilerbtf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/diff"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/compiledtest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// workspace is a directory with the files that a test makes.
type workspace struct{ compiledtest.Dir }

// optionsOf returns the options of a conversion in the workspace.
func optionsOf(w workspace) convert.Options {
	return convert.Options{Features: w.Features, Jobs: 1}
}

// newWorkspace returns a workspace. It skips the test if there is no gcc 16 or later.
func newWorkspace(t testing.TB) workspace {
	t.Helper()
	programtest.NeedGCC16(t)
	return workspace{compiledtest.Dir{Dir: programtest.NewDir(t), Features: features.Default(),
		ToFacts: facts.Extract}}
}

// run runs a command in the workspace. If the command isn't installed, run skips the test.
func (w workspace) run(command string) {
	w.Helper()
	words := strings.Fields(command)
	w.Run(words[0], words[1:]...)
}

// compile makes two objects from a source: NAME.d.o with DWARF and NAME.b.o with BTF.
func (w workspace) compile(name, source, flags string) {
	w.Helper()
	w.Write(name+".c", source)
	gcc := "gcc -w -std=gnu11 -ffreestanding -fno-pic -c " + flags + " " + name + ".c"
	w.run(gcc + " -g -o " + name + ".d.o")
	w.run(gcc + " -gbtf -o " + name + ".b.o")
}

// convert converts the BTF of a file if the parameter btf is set, otherwise its DWARF.
func (w workspace) convert(name string, btf bool) *object.Object {
	w.Helper()
	o, _ := w.convertWith(name, btf, convert.Options{Features: w.Features, Jobs: 2})
	return o
}

// convertWith is like convert, with other options. It also returns the warnings.
func (w workspace) convertWith(name string, btf bool, opt convert.Options) (*object.Object,
	[]string) {
	w.Helper()
	road, warnings := convert.File, []string(nil)
	if btf {
		road = File
	}
	opt.Warn = func(line string) { warnings = append(warnings, line) }
	o, err := road(w.Open(name), opt)
	if err != nil {
		w.Fatal(err)
	}
	return o.Object, warnings
}

func (w workspace) bytes(o *object.Object) []byte {
	w.Helper()
	data, err := object.Write(o, 1)
	if err != nil {
		w.Fatal(err)
	}
	return data
}

// link links objects, and verifies the result. known may be nil.
func (w workspace) link(known *facts.Facts, objects ...*object.Object) (*btf.Blob, *link.Result) {
	w.Helper()
	res := w.LinkBTF(link.Options{Facts: known}, nil, objects...)
	for _, problem := range verify.Check(res.Blob, verify.Options{}) {
		w.Error(problem)
	}
	return res.Blob, res.Result
}

// differences lists how BTF that was made from DWARF differs from BTF that was made from a
// compiler's BTF.
func differences(dwarf, compiled *btf.Blob) []string {
	list, _ := diff.Compare(diff.Side{dwarf}, diff.Side{compiled}, diff.Options{})
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	return lines
}

// sameBytes checks that the DWARF and the BTF of NAME give the same object.
func (w workspace) sameBytes(name string) {
	w.Helper()
	d, b := w.convert(name+".d.o", false), w.convert(name+".b.o", true)
	if bytes.Equal(w.bytes(d), w.bytes(b)) {
		return
	}
	w.Errorf("%s: DWARF gives\n%v\nBTF\n%v", name, units(d), units(b))
}

// units describes the content of an object's units.
func units(o *object.Object) (lines []string) {
	for _, u := range o.Units {
		for _, id := range u.Items {
			n := o.Graph.Node(id)
			lines = append(lines, fmt.Sprintf("%s: kind %d %s size %d aux %d flag %v: %x",
				o.Graph.Strs.String(u.File), n.Kind, o.Graph.Name(n), n.Size, n.Aux, n.Flag, n.Hash.A))
		}
	}
	slices.Sort(lines)
	return lines
}
