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

// gccVersion returns the first number in gcc's version, or 0 if there is no gcc.
var gccVersion = sync.OnceValue(func() int {
	out, _ := exec.Command("gcc", "-dumpversion").Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ".")
	n, _ := strconv.Atoi(first)
	return n
})

// unnamedFirst matches a record that begins with an unnamed bit-field. In gcc's BTF, the member
// after this bit-field has offset 0, wherever it really is.
var unnamedFirst = regexp.MustCompile(`\{\s*[a-z ]+ : *\d`)

// gccWritesBTF reports whether gcc writes usable BTF for a program. The program must consist of C
// sources, and must not use nullptr, whose type is void in gcc's BTF. The fixed sources in
// TestKnown can't be used either: each is a single text, from which the check can't remove the
// statements of functions.
func gccWritesBTF(p *Program, _ Options) bool {
	for _, u := range p.Files() {
		if !strings.HasSuffix(u.Path, ".c") || len(u.root.kids) == 0 ||
			unnamedFirst.MatchString(u.Text()) || strings.Contains(u.Text(), "(nullptr)") {
			return false
		}
	}
	return gccVersion() >= 16
}

// checkCompilerBTF checks that BTF objects made from gcc's BTF equal those made from gcc's DWARF,
// so that a link can mix them, and that a linked file with BTF from gcc gives the same result. The
// functions have no statements, because DWARF describes types in statements, and BTF doesn't. With
// -O2, which every second program uses, DWARF also has the locations of parameters, so functions
// may differ.
func checkCompilerBTF(b *Build) error {
	opt, same := "-O0", sameBytes
	if b.Seed%2 == 1 {
		opt, same = "-O2", sameButFunctions
	}
	dwarf, btf := b.compileBoth(opt)
	for i := range dwarf {
		if opt == "-O0" {
			harness.Check(same(result{dwarf[i], b.read(dwarf[i])}, result{btf[i], b.read(btf[i])}))
		}
	}
	if err := b.linkBoth(same, dwarf, btf); err != nil {
		return fmt.Errorf("%s: %w", opt, err)
	}
	return nil
}

// compileBoth compiles each unit once with DWARF and once with BTF, makes a BTF object from each
// object file, and links the object files that have BTF.
func (b *Build) compileBoth(opt string) (dwarf, btf []string) {
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

// linkBoth links the BTF objects made from DWARF, those made from BTF, and a mixture of the two.
func (b *Build) linkBoth(same func(...result) error, dwarf, btf []string) error {
	link := func(way string, objects []string) result {
		return result{way, b.make(func(out string) {
			b.btfdedup(append([]string{"link", "--facts", "outline.facts", "-o", out}, objects...)...)
		})}
	}
	mixed := slices.Clone(dwarf)
	for i := 1; i < len(mixed); i += 2 {
		mixed[i] = btf[i]
	}
	ofDWARF, ofBTF := link("objects from DWARF", dwarf), link("objects from BTF", btf)
	harness.Check(same(ofDWARF, ofBTF, link("objects from both", mixed)))
	other := link("objects from BTF in a different order", shuffled(b.random(9), btf))
	harness.Check(sameBytes(ofBTF, other))
	if !noWeak(b.Program, b.Options) || b.Options.Collect {
		return nil // a linked file's BTF doesn't show which functions or units were kept
	}
	return sameBytes(ofBTF, result{"the linked file's BTF", b.make(func(out string) {
		b.btfgen("elf", "-q", "-o", out, "outline.linked")
	})})
}

// definitionLine matches the definition of a tag, typedef or variable, but not declarations, which
// are in BTF only if something uses them.
var definitionLine = regexp.MustCompile(`^((struct|union|enum) t\S* size=|typedef |var )`)

// sameButFunctions compares definitions of tags, typedefs and variables, but ignores functions.
func sameButFunctions(all ...result) error {
	for _, r := range all[1:] {
		lost, added := oneSided(all[0], r)
		if slices.ContainsFunc(slices.Concat(lost, added), definitionLine.MatchString) {
			return errors.New(sides(all[0], lost, r, added))
		}
	}
	return nil
}
