package main

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/command/cli/clitest"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/programs/core"
	"github.com/rules-btf/rules_btf/internal/programs/needs"
	"github.com/rules-btf/rules_btf/internal/programs/reach"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

func TestVerbs(t *testing.T) { clitest.Verbs(t, program) }

func TestUsage(t *testing.T) { clitest.Usage(t, program) }

// TestStdin tests the commands that read only objects or needs. TestStdinIsTheFile also tests min
// and check, which read needs and then kernels.
func TestStdin(t *testing.T) {
	clitest.Stdin(t, func() *cobra.Command {
		p := program()
		for _, c := range p.Commands() {
			if c.Name() == "min" || c.Name() == "check" {
				p.RemoveCommand(c)
			}
		}
		return p
	})
}

func TestOutputsAllOrNone(t *testing.T) {
	f := newFiles(t)
	f.kernel("k/a.btf", little, task("pid", "mm"))
	f.kernel("k/b.btf", little, task("pid"))
	f.needs("my.needs", little, reader("reader", "mm"))
	clitest.AllOrNone(t, program,
		[]string{"min", "--needs", f.path("my.needs"), "-d", clitest.Out + "/min", f.path("k")})
}

// run runs the command.
func run(args ...string) (code int, stdout, stderr string) {
	var o, e bytes.Buffer
	code = cli.Execute(program, args, nil, &o, &e)
	return code, o.String(), e.String()
}

// files is a directory with files that btfcore reads and writes.
type files struct {
	*testing.T
	dir string
}

func newFiles(t *testing.T) files {
	t.Helper()
	return files{t, t.TempDir()}
}

func (f files) path(name string) string { return filepath.Join(f.dir, name) }

func (f files) write(name string, data []byte) {
	f.Helper()
	if err := os.MkdirAll(filepath.Dir(f.path(name)), 0o777); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(f.path(name), data, 0o666); err != nil {
		f.Fatal(err)
	}
}

// run runs a command line in which DIR is replaced by the directory. In the output that it returns,
// the directory is replaced by DIR.
func (f files) run(line string) (code int, stdout, stderr string) {
	code, stdout, stderr = run(strings.Fields(strings.ReplaceAll(line, "DIR", f.dir))...)
	return code, strings.ReplaceAll(stdout, f.dir, "DIR"), strings.ReplaceAll(stderr, f.dir, "DIR")
}

// tree returns, by path, the content of each file below a directory.
func (f files) tree(dir string) map[string]string {
	f.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(f.path(dir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(f.path(dir), path)
		found[rel] = string(data)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return found
}

func names(tree map[string]string) []string { return slices.Sorted(maps.Keys(tree)) }

var little, big binary.ByteOrder = binary.LittleEndian, binary.BigEndian

// task returns a function that adds struct task_struct with the given members, all of type int.
func task(members ...string) func(*btf.Builder) {
	return func(b *btf.Builder) { composite(b, "task_struct", members...) }
}

func composite(b *btf.Builder, name string, members ...string) {
	i := b.Int("int", 4, btf.IntSigned, 32)
	var list []btf.Member
	for n, m := range members {
		list = append(list, btf.Member{NameOff: b.Name(m), Type: i, Offset: uint32(32 * n)})
	}
	b.Composite(btf.KindStruct, name, uint32(4*len(members)), false, list...)
}

func encoded(t *testing.T, b *btf.Builder) []byte {
	t.Helper()
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data
}

// kernel writes the raw BTF of a kernel.
func (f files) kernel(name string, order binary.ByteOrder, build func(*btf.Builder)) []byte {
	f.Helper()
	b := btf.NewBuilder(order, nil, nil)
	build(b)
	data := encoded(f.T, b)
	f.write(name, data)
	return data
}

// module writes split BTF that is based on the BTF of a kernel.
func (f files) module(name string, kernel []byte, build func(*btf.Builder)) {
	f.Helper()
	base, err := btf.Parse(kernel, nil)
	if err != nil {
		f.Fatal(err)
	}
	b := btf.NewBuilder(base.Order, base, nil)
	build(b)
	f.write(name, encoded(f.T, b))
}

// tar writes an archive. The members alternate: the name of a file, then the content of that file.
func (f files) tar(name string, members ...string) {
	f.Helper()
	f.write(name, []byte(filetest.Tar(f, members...)))
}

// xz compresses a file.
func (f files) xz(name, from string) {
	f.Helper()
	data, err := os.ReadFile(f.path(from))
	if err != nil {
		f.Fatal(err)
	}
	f.write(name, filetest.Pack(f, ".xz", data))
}

// asker is a program that reads fields of one struct.
type asker struct {
	name, of string
	fields   []string
	guard    string // a field that the program first tests for; "" if none
}

// reader returns a program that reads fields of struct task_struct.
func reader(name string, fields ...string) asker {
	return asker{name: name, of: "task_struct", fields: fields}
}

// guardedReader returns a program that reads a field of struct task_struct if the field exists.
func guardedReader(name, field string) asker {
	return asker{name: name, of: "task_struct", fields: []string{field}, guard: field}
}

// needs writes the needs of programs to a file.
func (f files) needs(name string, order binary.ByteOrder, programs ...asker) {
	f.Helper()
	b := btf.NewBuilder(order, nil, nil)
	i := b.Int("int", 4, btf.IntSigned, 32)
	var list []needs.Program
	for _, a := range programs {
		p := needs.Program{Name: a.name, Section: "socket"}
		var members []btf.Member
		all := a.fields
		for n, field := range all {
			members = append(members, btf.Member{NameOff: b.Name(field), Type: i, Offset: uint32(64 * n)})
		}
		id := b.Composite(btf.KindStruct, a.of, uint32(8*len(all)), false, members...)
		for n := range all {
			p.Relocations = append(p.Relocations, core.Relocation{Kind: core.FieldByteOffset, Type: id,
				Access: "0:" + string(rune('0'+n))})
		}
		if a.guard != "" {
			p.Conditions = map[int]needs.Condition{0: {{{Test: reach.Fact(len(all)), Found: true}}}}
			p.Relocations = append(p.Relocations, core.Relocation{Kind: core.FieldExists, Type: id,
				Access: "0:0"})
		}
		list = append(list, p)
	}
	local, err := core.NewBTF(b.Finish(), nil)
	if err != nil {
		f.Fatal(err)
	}
	data, err := needs.Write(&needs.Needs{Order: order, Local: local, Programs: list})
	if err != nil {
		f.Fatal(err)
	}
	f.write(name, data)
}
