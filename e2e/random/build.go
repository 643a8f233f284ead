package random

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// Build is a program that is built in a directory, with the tools' outputs for it. Each output is
// made when a check first needs it. If making it fails, the check ends (harness.Check).
type Build struct {
	Program *Program
	Options Options
	Dir     string // an absolute path
	Seed    uint64
	Tools   Tools
	Runs    int // how often checkJobs runs a verb, to show that threads don't affect the result

	cache   string // a directory of object files, named after hashes of source and command
	made    map[string]bool
	scratch int
}

// notBuilt is an error from a compiler or linker, which means that the program is not valid.
type notBuilt struct{ error }

// NewBuild writes the program's sources into dir and compiles them. Object files are kept in cache.
func NewBuild(
	p *Program, o Options, seed uint64, dir, cache string, tools Tools,
) (*Build, error) {
	b := &Build{Program: p, Options: o, Dir: dir, Seed: seed, Tools: tools, cache: cache,
		Runs: 3, made: map[string]bool{}}
	return b, harness.Caught(func() error {
		b.compileAll(o, "")
		b.Linked()
		return nil
	})
}

func (b *Build) random(check uint64) *rand.Rand { return rand.New(rand.NewPCG(b.Seed, 100+check)) }

// object returns the path of a unit's object file, relative to the build's directory.
func object(u *Unit) string {
	return strings.TrimSuffix(u.Path, filepath.Ext(u.Path)) + ".o"
}

// Objects returns the paths of all object files, in the order of the units.
func (b *Build) Objects() []string {
	var all []string
	for _, u := range b.Program.Files() {
		all = append(all, object(u))
	}
	return all
}

// compileAll compiles all units to object files below a directory, with the given flags in addition
// to the flags from o.
func (b *Build) compileAll(o Options, dir string, flags ...string) (objects []string) {
	for i, u := range b.Program.Units {
		if !u.gone {
			output := filepath.Join(dir, object(u))
			b.compile(i, u, o, output, flags...)
			objects = append(objects, output)
		}
	}
	return objects
}

// compile compiles unit i to output. If there are additional flags, the output isn't cached,
// because with these flags the compiler may write a second file.
func (b *Build) compile(i int, u *Unit, o Options, output string, flags ...string) {
	source := u.Text()
	argv := append(append(o.Command(i, u), flags...), "-o", output, u.Path)
	b.write(u.Path, []byte(source))
	harness.Check(os.MkdirAll(filepath.Dir(b.path(output)), 0o777))
	sum := sha256.Sum256([]byte(strings.Join(argv, "\x00") + "\x00" + source))
	kept := filepath.Join(b.cache, hex.EncodeToString(sum[:]))
	if len(flags) > 0 || os.Link(kept, b.path(output)) != nil {
		b.compiler(b.Dir, argv...)
	}
	if len(flags) == 0 {
		os.Link(b.path(output), kept) // if this fails, kept exists or u will be compiled again
	}
}

func (b *Build) compiler(dir string, argv ...string) {
	if err := run(dir, argv...); err != nil {
		harness.Check(notBuilt{err})
	}
}

func (b *Build) path(name string) string { return filepath.Join(b.Dir, name) }

func (b *Build) write(name string, data []byte) {
	harness.Check(os.MkdirAll(filepath.Dir(b.path(name)), 0o777))
	harness.Check(os.WriteFile(b.path(name), data, 0o666))
}

func (b *Build) read(name string) []byte { return harness.Get(os.ReadFile(b.path(name))) }

// once makes a file by calling the function make, unless it has already done so. It returns the
// file's name.
func (b *Build) once(name string, make func()) string {
	if !b.made[name] {
		make()
		b.made[name] = true
	}
	return name
}

func (b *Build) temporary(suffix string) string {
	b.scratch++
	return fmt.Sprintf("tmp%03d%s", b.scratch, suffix)
}

// link links objects into a static program with the C linker. Like a kernel, the program has a
// section of per-CPU variables.
func (b *Build) link(output string, objects []string) {
	argv := []string{b.Options.Linker, "-static", "-e", "start", "--unresolved-symbols=ignore-all",
		"-o", output}
	if b.Options.Linker != "mold" { // mold doesn't support such scripts
		const script = "percpu.lds"
		b.write(script, fmt.Appendf(nil,
			"SECTIONS { %[1]s %[2]s : { *(%[1]s) } } INSERT AFTER .bss;\n",
			perCPUSection, b.Options.PerCPU))
		argv = append(argv, "--no-check-sections", "-T", script)
	}
	if b.Options.Collect {
		argv = append(argv, "--gc-sections")
		for _, root := range b.Program.Roots {
			argv = append(argv, "-u", root)
		}
	}
	b.compiler(b.Dir, slices.Concat(argv, b.Options.LinkFlags, b.archived(objects))...)
}

// archived puts the objects in Program.Archive into an archive, and returns the linker's inputs.
func (b *Build) archived(objects []string) []string {
	isMember := func(o string) bool { return slices.Contains(b.Program.Archive, o) }
	if !slices.ContainsFunc(objects, isMember) {
		return objects
	}
	library := b.temporary(".a")
	b.compiler(b.Dir, append([]string{"ar", "rc", library}, b.Program.Archive...)...)
	return append(slices.DeleteFunc(slices.Clone(objects), isMember), library)
}

// relocatable links objects into one object file. It doesn't use mold, because mold 1.10 loses
// strings with -r.
func (b *Build) relocatable(output string, objects []string, flags ...string) {
	linker := b.Options.Linker
	if linker == "mold" {
		linker = "ld"
	}
	argv := append([]string{linker, "-r", "-o", output}, flags...)
	b.compiler(b.Dir, append(argv, b.archived(objects)...)...)
}

// Linked returns the name of the linked program.
func (b *Build) Linked() string {
	return b.once("linked", func() { b.link("linked", b.Objects()) })
}

func (b *Build) btfgen(args ...string) {
	harness.Check(run(b.Dir, append([]string{b.Tools.Btfgen}, args...)...))
	harness.Check(b.sound(args))
}

func (b *Build) btfdedup(args ...string) { harness.Check(b.tryDedup(args...)) }

func (b *Build) tryDedup(args ...string) error {
	if err := run(b.Dir, append([]string{b.Tools.Btfdedup}, args...)...); err != nil {
		return err
	}
	return b.sound(args)
}

// Facts returns the name of the program's facts file.
func (b *Build) Facts() string {
	return b.once("facts", func() { b.btfgen("facts", "-o", "facts", b.Linked()) })
}

// OneShot returns the name of the file with the BTF that "btfgen elf" makes from the program.
func (b *Build) OneShot() string {
	return b.once("elf.btf", func() {
		b.btfgen("elf", "-j1", "-o", "elf.btf", "--skipped", "elf.skipped", b.Linked())
	})
}

// BTFObjects returns the names of the BTF objects made from the object files.
func (b *Build) BTFObjects() []string {
	var all []string
	for _, o := range b.Objects() {
		all = append(all, b.BTFObject(o))
	}
	return all
}

// BTFObject returns the name of the BTF object made from an ELF file.
func (b *Build) BTFObject(elf string) string {
	name := elf + ".btfo"
	return b.once(name, func() { b.btfgen("object", "-o", name, elf) })
}

// LinkBTF links BTF objects with the program's facts, and returns the result.
func (b *Build) LinkBTF(jobs int, in ...string) []byte {
	return b.make(func(out string) {
		b.btfdedup(append([]string{"link", "-j", strconv.Itoa(jobs), "--facts", b.Facts(), "-o", out},
			in...)...)
	})
}

// make calls the function do with the name of a new file, and returns what do has written to this
// file.
func (b *Build) make(do func(output string)) []byte {
	name := b.temporary("")
	do(name)
	return b.read(name)
}
