package main

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/support/must"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// packageIndex is an index of a package, as words: the header; the hash table; the numbers of the
// sections, from word number x.columns on; a row of offsets for each unit; and a row of sizes for
// each unit.
type packageIndex struct {
	words                 []byte
	columns, width, units int
}

// editIndex changes an index of the package at path and writes the result to another file.
func editIndex(t *testing.T, path, section, to string, edit func(x packageIndex)) {
	t.Helper()
	f := must.Get(elf.Open(path))(t)
	defer f.Close()
	s := f.Section(section)
	if s == nil {
		t.Fatalf("%s has no %s", path, section)
	}
	data := must.Get(os.ReadFile(path))(t)
	x := packageIndex{words: data[s.Offset : s.Offset+s.Size]}
	x.width, x.units, x.columns = x.word(1), x.word(2), 4+3*x.word(3)
	edit(x)
	writeFile(t, to, string(data))
}

func (x packageIndex) word(at int) int { return int(binary.LittleEndian.Uint32(x.words[4*at:])) }

func (x packageIndex) set(at, v int) { binary.LittleEndian.PutUint32(x.words[4*at:], uint32(v)) }

// rename gives the column of a section the number of another section.
func (x packageIndex) rename(from, to int) {
	for at := x.columns; at < x.columns+x.width; at++ {
		if x.word(at) == from {
			x.set(at, to)
		}
	}
}

// resize sets, for each unit, the size of its part of a section.
func (x packageIndex) resize(section, size int) {
	for at := x.columns; at < x.columns+x.width; at++ {
		if x.word(at) == section {
			for unit := range x.units {
				x.set(at+x.width*(1+x.units+unit), size)
			}
		}
	}
}

// TestDamagedPackage changes the indexes of packages: a wrong index must never give different BTF.
// The numbers of sections are 5 for .debug_loc (.debug_loclists), 6 for .debug_str_offsets, and 8
// for .debug_rnglists.
func TestDamagedPackage(t *testing.T) {
	const unused = 9
	for _, c := range []struct {
		compiler, flags, locations string
	}{
		{"gcc", "-gdwarf-4 -O2", ".debug_loc.dwo"},
		{"clang", "-gdwarf-4 -O2", ".debug_loc.dwo"},
		{"clang", "-gdwarf-5 -O2", ".debug_loclists.dwo"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) {
			programtest.Need(t, "llvm-dwp")
			programtest.Need(t, c.compiler)
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			compileForms(t, dir, c.compiler, c.flags+" -gsplit-dwarf", true)
			want := made(t, "elf", dir, "linked")
			programtest.Shell(t, dir, "llvm-dwp -o whole x.dwo y.dwo; mkdir dwos; mv *.dwo dwos")
			if !bytes.Equal(made(t, "elf", dir, "linked", "--debug-file", at("whole")), want) {
				t.Fatal("the bytes with a package differ")
			}
			for _, d := range []struct {
				name string
				edit func(x packageIndex)
				want string
			}{
				{"no strings", func(x packageIndex) { x.rename(6, unused) },
					"no column for .debug_str_offsets.dwo, though the section is not empty"},
				{"no locations", func(x packageIndex) { x.rename(5, unused) },
					"no column for " + c.locations + ", though the section is not empty"},
				{"strings twice", func(x packageIndex) { x.rename(5, 6) },
					"two columns for .debug_str_offsets.dwo"},
				{"locations twice", func(x packageIndex) { x.rename(6, 5) },
					"two columns for " + c.locations},
				{"too many strings", func(x packageIndex) { x.resize(6, 1<<20) },
					" of .debug_str_offsets.dwo, which has "},
				{"too many locations", func(x packageIndex) { x.resize(5, 1<<20) },
					" of " + c.locations + ", which has "},
				{"units without strings", func(x packageIndex) { x.resize(6, 0) },
					"is beyond the end of .debug_str_offsets"},
				{"units without locations", func(x packageIndex) { x.resize(5, 0) },
					"is beyond the end of .debug_loc"},
			} {
				editIndex(t, at("whole"), ".debug_cu_index", at("damaged"), d.edit)
				code, _, stderr := btfgen("elf", "-o", at("out"), "--debug-file", at("damaged"), at("linked"))
				if code != 1 || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, d.want) ||
					!strings.HasPrefix(stderr, "btfgen: "+at("damaged")+": .debug_") {
					t.Errorf("%s: exit code %d, %s", d.name, code, stderr)
				}
				if code == 0 && !bytes.Equal(want,
					made(t, "elf", dir, "linked", "--debug-file", at("damaged"))) {
					t.Errorf("%s: different BTF", d.name)
				}
			}
		})
	}
}
