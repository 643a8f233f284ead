package random

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/e2e/internal/harness"
)

// gccVersion returns the first number of gcc's version, or 0 if there is no gcc.
var gccVersion = sync.OnceValue(func() int {
	out, _ := exec.Command("gcc", "-dumpversion").Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ".")
	n, _ := strconv.Atoi(first)
	return n
})

// unnamedFirst matches a record that begins with a bitfield without a name. In gcc's BTF, the
// member after this bitfield has offset 0, wherever it really is.
var unnamedFirst = regexp.MustCompile(`\{\s*[a-z ]+ : *\d`)

// gccWritesBTF reports whether gcc writes usable BTF for a program. The program must be C without
// assembly, and must not use nullptr, because gcc makes the type of nullptr void. The fixed sources
// of TestKnown can't be used either: each is a single text, from which the check can't leave out
// the statements of functions.
func gccWritesBTF(p *Program, _ Options) bool {
	for _, u := range p.Files() {
		if !strings.HasSuffix(u.Path, ".c") || len(u.root.kids) == 0 ||
			unnamedFirst.MatchString(u.Text()) || strings.Contains(u.Text(), "(nullptr)") {
			return false
		}
	}
	return gccVersion() >= 16
}

// checkCompilerBTF checks that gcc's BTF gives the same objects as its DWARF, that the two can be
// linked together, and that a linked file whose objects have BTF gives the same result. The
// functions have no statements, because DWARF says more about statements than BTF. With -O2, DWARF
// also says more about the locations of parameters, so functions may differ.
func checkCompilerBTF(b *Build) error {
	for _, opt := range []string{"-O0", "-O2"} {
		dwarf, btf := b.compileRoads(opt)
		same := sameButFunctions
		if opt == "-O0" {
			same = sameBytes
			for i := range dwarf {
				harness.Check(same(result{dwarf[i], b.read(dwarf[i])}, result{btf[i], b.read(btf[i])}))
			}
		}
		if err := b.linkRoads(same, dwarf, btf); err != nil {
			return fmt.Errorf("%s: %w", opt, err)
		}
	}
	return nil
}

// compileRoads compiles each unit with DWARF and with BTF, makes a BTF object from each, and links
// the object files that were compiled with BTF.
func (b *Build) compileRoads(opt string) (dwarf, btf []string) {
	var linked []string
	for i, u := range b.Program.Files() {
		source := "outline/" + u.Path
		b.write(source, []byte(u.Outline()))
		compile := func(flag string) string {
			o := b.Options
			o.Compilers, o.DWARF, o.Opt = []string{"gcc"}, []string{flag}, opt
			name := fmt.Sprintf("outline/%s%s/%s", flag, opt, object(u))
			harness.Check(os.MkdirAll(filepath.Dir(b.path(name)), 0o777))
			b.compiler(b.Dir, append(o.Command(i, u), "-o", name, source)...)
			b.btfgen("object", "-q", "-o", name+".btfo", name)
			return name
		}
		dwarf = append(dwarf, compile("-gdwarf-5")+".btfo")
		linked = append(linked, compile("-gbtf"))
		btf = append(btf, linked[i]+".btfo")
	}
	b.link("outline.linked", linked)
	b.btfgen("facts", "-o", "outline.facts", "outline.linked")
	return dwarf, btf
}

// linkRoads links the objects made from DWARF, those made from BTF, and a mixture.
func (b *Build) linkRoads(same func(...result) error, dwarf, btf []string) error {
	link := func(way string, objects []string) result {
		return result{way, b.make(func(out string) {
			b.btfdedup(append([]string{"link", "--facts", "outline.facts", "-o", out}, objects...)...)
		})}
	}
	mixed := slices.Clone(dwarf)
	for i := 1; i < len(mixed); i += 2 {
		mixed[i] = btf[i]
	}
	ofDWARF, ofBTF := link("objects of DWARF", dwarf), link("objects of BTF", btf)
	harness.Check(same(ofDWARF, ofBTF, link("objects of both", mixed)))
	other := link("objects of BTF in another order", shuffled(b.random(9), btf))
	harness.Check(sameBytes(ofBTF, other))
	if !noWeak(b.Program, b.Options) || b.Options.Collect {
		return nil // a linked file's BTF doesn't say which function or unit was kept
	}
	return sameBytes(ofBTF, result{"the linked file's BTF", b.make(func(out string) {
		b.btfgen("elf", "-q", "-o", out, "outline.linked")
	})})
}

// sameButFunctions compares types, except functions and the types to which only functions lead.
func sameButFunctions(all ...result) error {
	for _, r := range all[1:] {
		lost, added := oneSided(all[0], r)
		if slices.ContainsFunc(slices.Concat(lost, added), func(line string) bool {
			return slices.ContainsFunc([]string{"struct t", "union t", "enum t", "typedef ", "var "},
				func(kind string) bool { return strings.HasPrefix(line, kind) })
		}) {
			return errors.New(sides(all[0], lost, r, added))
		}
	}
	return nil
}
