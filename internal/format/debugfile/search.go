package debugfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/format/elf"
)

// DefaultDir is the directory into which distributions install debug files.
const DefaultDir = "/usr/lib/debug"

// Search says where debug files are.
type Search struct {
	// Named lists the files that may be opened if opened files need them: separate debug files,
	// supplementary files, .dwo files and packages of them, and members of thin archives. An entry may
	// be "". If Named is nil, every file may be opened; otherwise there is no search.
	Named []string
	// Dirs are the directories with debug files. If it is nil, DefaultDir is the only one. If all are
	// "", there is no search.
	Dirs []string
	// Tell, if not nil, is called with a message about each file that was searched for. Several
	// threads may call it at the same time.
	Tell func(line string)

	once sync.Once // see the method named
	list []*named
	err  error
}

// Open opens the ELF file at path, together with its debug file if it has one, and its
// supplementary file if it needs one. A stripped file whose debug file isn't found is opened alone.
func (s *Search) Open(path string) (*elf.File, error) {
	f, err := elf.Open(path)
	return s.complete(f, err)
}

// OpenInput is like Open, for a file that may be a member of an archive.
func (s *Search) OpenInput(in elf.Input) (*elf.File, error) {
	f, err := in.Open()
	return s.complete(f, err)
}

func (s *Search) complete(f *elf.File, err error) (*elf.File, error) {
	if err != nil {
		return nil, err
	}
	if err := s.checkNamed(); err != nil {
		f.Close()
		return nil, err
	}
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

func (s *Search) dirs() []string {
	switch {
	case s.Named != nil:
		return nil
	case s.Dirs == nil:
		return []string{DefaultDir}
	}
	return slices.DeleteFunc(slices.Clone(s.Dirs), func(dir string) bool { return dir == "" })
}

// Off reports whether files are not searched for.
func (s *Search) Off() bool { return len(s.dirs()) == 0 }

func (s *Search) tell(format string, args ...any) {
	if s.Tell != nil {
		s.Tell(fmt.Sprintf(format, args...))
	}
}

// byBuildID returns the path, in a directory of debug files, of the file with this build-id.
func byBuildID(dir string, id []byte) string {
	return filepath.Join(dir, ".build-id", fmt.Sprintf("%x", id[:1]), fmt.Sprintf("%x.debug", id[1:]))
}

// homes returns the directory of path and, if path is a symbolic link, the directory of its target.
func homes(path string) []string {
	list := []string{filepath.Dir(path)}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if dir := filepath.Dir(real); !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

// tried lists the paths at which a file was looked for, each with the problem there.
type tried []string

// add adds a path, and what is wrong with the file there, unless the list already has that entry.
func (t *tried) add(path, wrong string) {
	if wrong != "" {
		path += " (" + wrong + ")"
	}
	if !slices.Contains(*t, path) {
		*t = append(*t, path)
	}
}

func (t tried) String() string { return strings.Join(t, ", ") }
