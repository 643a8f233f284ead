package random

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Build is a program that is built in a directory, with what the tools make of it. Everything is
// made once, when a check first asks for it.
type Build struct {
	Program *Program
	Options Options
	Dir     string // absolute
	Seed    uint64
	Tools   Tools
	Runs    int // how often a verb runs to show that its result depends on no schedule of threads

	cache   string // a directory of object files by a hash of their source and command
	made    map[string]bool
	scratch int
}

// notBuilt is an error of a compiler or linker: the program is no program.
type notBuilt struct{ error }

// NewBuild writes the program's sources into dir and compiles them. Object files are kept in cache.
func NewBuild(p *Program, o Options, seed uint64, dir, cache string, tools Tools) (*Build, error) {
	b := &Build{Program: p, Options: o, Dir: dir, Seed: seed, Tools: tools, cache: cache,
		Runs: 3, made: map[string]bool{}}
	for i, u := range p.Units {
		if u.gone {
			continue
		}
		if err := b.compile(i, u, o, object(u)); err != nil {
			return nil, err
		}
	}
	if _, err := b.Linked(); err != nil {
		return nil, err
	}
	return b, nil
}

// random is the source of the choices that a check makes.
func (b *Build) random(check uint64) *rand.Rand { return rand.New(rand.NewPCG(b.Seed, 100+check)) }

// object is the path of a unit's object file in the build's directory.
func object(u *Unit) string {
	return strings.TrimSuffix(u.Path, filepath.Ext(u.Path)) + ".o"
}

// Objects are the paths of all object files, in the order of the units.
func (b *Build) Objects() []string {
	var all []string
	for _, u := range b.Program.Files() {
		all = append(all, object(u))
	}
	return all
}

// compile makes output of unit i.
func (b *Build) compile(i int, u *Unit, o Options, output string) error {
	source := u.Text()
	argv := append(o.Command(i, u), "-o", output, u.Path)
	if err := b.write(u.Path, []byte(source)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(b.path(output)), 0o777); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00") + "\x00" + source))
	kept := filepath.Join(b.cache, hex.EncodeToString(sum[:]))
	if err := os.Link(kept, b.path(output)); err == nil {
		return nil
	}
	if _, err := run(b.Dir, argv...); err != nil {
		return notBuilt{err}
	}
	if err := os.Link(b.path(output), kept); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func (b *Build) path(name string) string { return filepath.Join(b.Dir, name) }

func (b *Build) write(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(b.path(name)), 0o777); err != nil {
		return err
	}
	return os.WriteFile(b.path(name), data, 0o666)
}

func (b *Build) read(name string) ([]byte, error) { return os.ReadFile(b.path(name)) }

// once runs make, which makes the file name, if that was not made yet.
func (b *Build) once(name string, make func() error) (string, error) {
	if b.made[name] {
		return name, nil
	}
	if err := make(); err != nil {
		return "", err
	}
	b.made[name] = true
	return name, nil
}

// temporary is the name of a new file.
func (b *Build) temporary(suffix string) string {
	b.scratch++
	return fmt.Sprintf("tmp%03d%s", b.scratch, suffix)
}

// link has the C linker make a static program of objects, with a section of per-CPU variables as in
// a kernel.
func (b *Build) link(output string, objects []string) error {
	argv := []string{b.Options.Linker, "-static", "-e", "start", "--unresolved-symbols=ignore-all",
		"-o", output}
	if b.Options.Linker != "mold" { // it has no scripts
		const script = "percpu.lds"
		if err := b.write(script, fmt.Appendf(nil,
			"SECTIONS { %[1]s %[2]s : { *(%[1]s) } } INSERT AFTER .bss;\n",
			perCPUSection, b.Options.PerCPU)); err != nil {
			return err
		}
		argv = append(argv, "--no-check-sections", "-T", script)
	}
	if b.Options.Collect {
		argv = append(argv, "--gc-sections")
		for _, root := range b.Program.Roots {
			argv = append(argv, "-u", root)
		}
	}
	if _, err := run(b.Dir, append(argv, objects...)...); err != nil {
		return notBuilt{err}
	}
	return nil
}

// relocatable has the C linker make one object file of objects. mold 1.10 loses strings there.
func (b *Build) relocatable(output string, objects []string, flags ...string) error {
	linker := b.Options.Linker
	if linker == "mold" {
		linker = "ld"
	}
	argv := append([]string{linker, "-r", "-o", output}, flags...)
	if _, err := run(b.Dir, append(argv, objects...)...); err != nil {
		return notBuilt{err}
	}
	return nil
}

// Linked is the program.
func (b *Build) Linked() (string, error) {
	return b.once("linked", func() error { return b.link("linked", b.Objects()) })
}

func (b *Build) btfgen(args ...string) error {
	_, err := run(b.Dir, append([]string{b.Tools.Btfgen}, args...)...)
	return err
}

func (b *Build) btfdedup(args ...string) error {
	_, err := run(b.Dir, append([]string{b.Tools.Btfdedup}, args...)...)
	return err
}

// Facts are the link facts of the program.
func (b *Build) Facts() (string, error) {
	linked, err := b.Linked()
	if err != nil {
		return "", err
	}
	return b.once("facts", func() error { return b.btfgen("facts", "-o", "facts", linked) })
}

// OneShot is the BTF that btfgen elf makes of the program.
func (b *Build) OneShot() (string, error) {
	linked, err := b.Linked()
	if err != nil {
		return "", err
	}
	return b.once("elf.btf", func() error {
		return b.btfgen("elf", "-j1", "-o", "elf.btf", "--skipped", "elf.skipped", linked)
	})
}

// BTFObjects are the BTF objects of the object files.
func (b *Build) BTFObjects() ([]string, error) {
	var all []string
	for _, o := range b.Objects() {
		name, err := b.BTFObject(o)
		if err != nil {
			return nil, err
		}
		all = append(all, name)
	}
	return all, nil
}

// BTFObject is the BTF object of an ELF file.
func (b *Build) BTFObject(elf string) (string, error) {
	name := elf + ".btfo"
	return b.once(name, func() error { return b.btfgen("object", "-o", name, elf) })
}

// LinkBTF links BTF objects with the program's facts, and returns the result.
func (b *Build) LinkBTF(jobs int, in []string) ([]byte, error) {
	facts, err := b.Facts()
	if err != nil {
		return nil, err
	}
	return b.make(func(out string) error {
		return b.btfdedup(append([]string{"link", "-j", strconv.Itoa(jobs), "--facts", facts, "-o", out},
			in...)...)
	})
}

// make reads the file that do makes.
func (b *Build) make(do func(output string) error) ([]byte, error) {
	name := b.temporary("")
	if err := do(name); err != nil {
		return nil, err
	}
	return b.read(name)
}
