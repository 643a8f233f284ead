package debugfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// DefaultDir is where distributions put debug files.
const DefaultDir = "/usr/lib/debug"

// Search says where debug files are.
type Search struct {
	// Alt is the supplementary file of those that need one; "" searches for it.
	Alt string
	// DWARF is the separate debug file of the file that is opened; "" searches for it, if the file
	// has no DWARF.
	DWARF string
	// Dirs are the directories with debug files. None, or empty names, turn the search off.
	Dirs []string
	// Follow are the files that may be opened, besides Alt and DWARF, because others refer to them:
	// members of archives, .dwo files. nil: any.
	Follow []string
	// MaxDecompressed is that of the files that are opened.
	MaxDecompressed int
	// Tell, when set, is called with a line about each file that was looked for. It must be safe to
	// call from several threads.
	Tell func(line string)
}

// Open opens the ELF file at path together with its debug file, if it has one, and its
// supplementary file, if it needs one. A stripped file whose debug file isn't found is opened as it
// is.
func (s *Search) Open(path string) (*elf.File, error) {
	f, err := elf.Open(path)
	return s.complete(f, err)
}

// OpenInput is Open for a file that may be a member of an archive.
func (s *Search) OpenInput(in elf.Input) (*elf.File, error) {
	f, err := in.Open()
	return s.complete(f, err)
}

func (s *Search) complete(f *elf.File, err error) (*elf.File, error) {
	if err != nil {
		return nil, err
	}
	f.MaxDecompressed = s.MaxDecompressed
	f, err = s.withDebugFile(f)
	if err != nil {
		return nil, err
	}
	link, err := supplementOf(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	if link != nil {
		f.SetSupplement(func() (*elf.File, error) { return s.supplement(f, link) })
	}
	return f, nil
}

// dirs are the directories to look at.
func (s *Search) dirs() []string {
	if s.Follow != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Dirs), func(dir string) bool { return dir == "" })
}

func (s *Search) tell(format string, args ...any) {
	if s.Tell != nil {
		s.Tell(fmt.Sprintf(format, args...))
	}
}

// byBuildID is where the file of a build-id is in a directory of debug files.
func byBuildID(dir string, id []byte) string {
	return filepath.Join(dir, ".build-id", fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x.debug", id[1:]))
}

// homes are the directories that a file is in: that of its path, and if that is a link, that of
// the file itself.
func homes(path string) []string {
	list := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if dir := filepath.Dir(real); !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// tried are the places where a file was looked for, with what was wrong there.
type tried []string

// add adds a place once.
func (t *tried) add(path, wrong string) {
	if wrong != "" {
		path += " (" + wrong + ")"
	}
	if !slices.Contains(*t, path) {
		*t = append(*t, path)
	}
}

func (t tried) String() string { return strings.Join(t, ", ") }
