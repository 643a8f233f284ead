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
)

// gccVersion is the first number of gcc's version, 0 without a gcc.
var gccVersion = sync.OnceValue(func() int {
	out, _ := exec.Command("gcc", "-dumpversion").Output()
	first, _, _ := strings.Cut(strings.TrimSpace(string(out)), ".")
	n, _ := strconv.Atoi(first)
	return n
})

// unnamedFirst is a record that begins with a bitfield without a name. gcc's BTF has the member
// after it at offset 0, wherever it is.
var unnamedFirst = regexp.MustCompile(`\{\s*[a-z ]+ : *\d`)

// gccWritesBTF: gcc writes BTF for C, where the type of nullptr is void, and reads no assembly. Of
// a source that is one text it isn't known which are the statements of functions, for the check to
// leave them out.
func gccWritesBTF(p *Program, _ Options) bool {
	for _, u := range p.Files() {
		if !strings.HasSuffix(u.Path, ".c") || len(u.root.kids) == 0 ||
			unnamedFirst.MatchString(u.Text()) || strings.Contains(u.Text(), "(nullptr)") {
			return false
		}
	}
	return gccVersion() >= 16
}

// checkCompilerBTF: the BTF that gcc writes gives the objects that its DWARF gives, and they link
// with one another; and what was linked of objects with BTF gives what these give. That is for the
// program without the statements of its functions: of those, BTF says less. With -O2, the DWARF
// says more of where parameters are.
func checkCompilerBTF(b *Build) error {
	for _, opt := range []string{"-O0", "-O2"} {
		roads, err := b.compileRoads(opt)
		if err != nil {
			return err
		}
		same := sameButFunctions
		if opt == "-O0" {
			same = sameBytes
			for i := range roads[0] {
				if err := b.sameFiles(same, roads[0][i], roads[1][i]); err != nil {
					return err
				}
			}
		}
		if err := b.linkRoads(same, roads); err != nil {
			return fmt.Errorf("%s: %w", opt, err)
		}
	}
	return nil
}

// compileRoads makes the BTF objects of the units, of DWARF and of BTF, and links the objects with
// BTF.
func (b *Build) compileRoads(opt string) (roads [2][]string, err error) {
	var linked []string
	for i, u := range b.Program.Files() {
		source := "outline/" + u.Path
		if err := b.write(source, []byte(u.Outline())); err != nil {
			return roads, err
		}
		for road, flag := range []string{"-gdwarf-5", "-gbtf"} {
			o := b.Options
			o.Compilers, o.DWARF, o.Opt = []string{"gcc"}, []string{flag}, opt
			object := fmt.Sprintf("outline/%d%s/%s", road, opt, object(u))
			if err := os.MkdirAll(filepath.Dir(b.path(object)), 0o777); err != nil {
				return roads, err
			}
			if _, err := run(b.Dir, append(o.Command(i, u), "-o", object, source)...); err != nil {
				return roads, notBuilt{err}
			}
			if road == 1 {
				linked = append(linked, object)
			}
			roads[road] = append(roads[road], object+".btfo")
			if err := b.btfgen("object", "-q", "-o", object+".btfo", object); err != nil {
				return roads, err
			}
		}
	}
	if err := b.link("outline.linked", linked); err != nil {
		return roads, err
	}
	return roads, b.btfgen("facts", "-o", "outline.facts", "outline.linked")
}

// linkRoads links the objects that DWARF gave, those that BTF gave, and some of each.
func (b *Build) linkRoads(same func(...result) error, roads [2][]string) error {
	mixed := append([]string{}, roads[0]...)
	for i := range mixed {
		mixed[i] = roads[i%2][i]
	}
	results := map[string]result{}
	for way, objects := range map[string][]string{"objects of DWARF": roads[0],
		"objects of BTF": roads[1], "objects of both": mixed,
		"objects of BTF in another order": shuffled(b.random(9), roads[1])} {
		data, err := b.make(func(out string) error {
			return b.btfdedup(append([]string{"link", "--facts", "outline.facts", "-o", out},
				objects...)...)
		})
		if err != nil {
			return err
		}
		results[way] = result{way, data}
	}
	ofBTF := results["objects of BTF"]
	if err := same(results["objects of DWARF"], ofBTF); err != nil {
		return err
	}
	if err := same(results["objects of DWARF"], results["objects of both"]); err != nil {
		return err
	}
	if err := sameBytes(ofBTF, results["objects of BTF in another order"]); err != nil {
		return err
	}
	if !noWeak(b.Program, b.Options) || b.Options.Collect {
		return nil // a linked file's BTF doesn't say which function or unit was kept
	}
	data, err := b.make(func(out string) error {
		return b.btfgen("elf", "-q", "-o", out, "outline.linked")
	})
	if err != nil {
		return err
	}
	return sameBytes(ofBTF, result{"the linked file's BTF", data})
}

// sameButFunctions is an error unless all results have the same types but for functions, their
// prototypes and what only those lead to.
func sameButFunctions(all ...result) error {
	for _, r := range all[1:] {
		lost, added, err := oneSided(all[0], r)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(slices.Concat(lost, added), func(line string) bool {
			return slices.ContainsFunc([]string{"Struct t", "Union t", "Enum t", "Typedef ", "Var "},
				func(kind string) bool { return strings.HasPrefix(line, kind) })
		}) {
			return errors.New(sides(all[0], lost, r, added))
		}
	}
	return nil
}

// sameFiles is an error unless two files have the same content.
func (b *Build) sameFiles(same func(...result) error, x, y string) error {
	var all []result
	for _, name := range []string{x, y} {
		data, err := b.read(name)
		if err != nil {
			return err
		}
		all = append(all, result{name, data})
	}
	return same(all...)
}
