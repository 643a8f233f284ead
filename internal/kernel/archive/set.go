package archive

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// maxSet is the maximum size of all files of a set, in bytes. A distribution's kernel has about
// 100 MB.
const maxSet = 2 << 30

// ReadSet reads the BTF of a kernel and its modules from an archive, or from a directory or tar
// archive without a manifest. There, the file vmlinux or vmlinux.btf has the kernel's BTF. If it is
// vmlinux.btf, the other files with this suffix are modules; if it is vmlinux, as in
// /sys/kernel/btf, all other files are. The result modules has the modules by the names that the
// kernel gives them. Files with sites of inlined functions (see SitesOf) are not read. ReadSet
// returns no kernel and no error for a path that is neither a directory nor a tar archive, or that
// doesn't exist.
// Rule: kernel with modules: which files are modules.
func ReadSet(path string) (kernel *btf.Blob, modules map[string]*btf.Blob, err error) {
	s := setReader{path: path, blobs: map[string]*btf.Blob{}, bases: map[string][]Base{}}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		s.in = directory(path)
	case err == nil && info.Mode().IsRegular():
		tar, err := openTar(path)
		if err != nil || tar == nil {
			return nil, nil, err
		}
		defer tar.file.Close()
		s.in = tar
	default:
		return nil, nil, nil
	}
	if err := s.findNames(); err != nil {
		return nil, nil, wrap(path, err)
	}
	modules = map[string]*btf.Blob{}
	for _, name := range slices.Sorted(maps.Keys(s.names)) {
		if SitesOf(name) != "" {
			continue
		}
		b, err := s.read(name, 0)
		switch {
		case err != nil:
			return nil, nil, wrap(path, err)
		case name == Vmlinux:
			kernel = b
		default:
			modules[name] = b
		}
	}
	return kernel, modules, nil
}

type setReader struct {
	path  string
	in    files
	names map[string]string    // of the files with BTF, by the names of the modules
	bases map[string][]Base    // by module, if there is a manifest
	blobs map[string]*btf.Blob // those that have been read
	size  int64                // of these, in bytes
}

func (s *setReader) findNames() error {
	all, err := s.in.list()
	if err != nil {
		return err
	}
	s.names = map[string]string{}
	suffix := ""
	switch {
	case slices.Contains(all, ManifestName):
		return wrap(ManifestName, s.readManifest())
	case slices.Contains(all, Vmlinux+".btf"):
		suffix = ".btf"
	case !slices.Contains(all, Vmlinux):
		return fmt.Errorf("the directory or archive has no file %s or %s.btf with the kernel's BTF; "+
			"btfdedup archive makes such a file", Vmlinux, Vmlinux)
	}
	for _, file := range all {
		if !strings.HasSuffix(file, suffix) || strings.Contains(file, "/") {
			continue
		}
		name := Name(file)
		if other, ok := s.names[name]; ok {
			return fmt.Errorf("%s and %s are the same module for the kernel; remove one", other, file)
		}
		s.names[name] = file
	}
	return nil
}

func (s *setReader) readManifest() error {
	r, _, err := s.in.open(ManifestName)
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := readManifest(r)
	if err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := checkName(f.Name); err != nil {
			return err
		}
		s.names[f.Name], s.bases[f.Name] = f.Name, f.Bases
	}
	if s.names[Vmlinux] == "" {
		return fmt.Errorf("it doesn't list %s; "+remake, Vmlinux)
	}
	return nil
}

// maxBases limits how many bases one after the other are read.
const maxBases = 8

// read reads the BTF of a module or of the kernel, and of its bases; depth is how many files are
// based on it.
func (s *setReader) read(name string, depth int) (*btf.Blob, error) {
	if b := s.blobs[name]; b != nil {
		return b, nil
	}
	var base *btf.Blob
	if name != Vmlinux {
		on := Vmlinux
		if list := s.bases[name]; len(list) > 0 {
			on = list[len(list)-1].Name
		}
		switch {
		case s.names[on] == "":
			return nil, fmt.Errorf("%s: it is based on %s, which is missing; "+remake, s.names[name], on)
		case depth == maxBases:
			return nil, fmt.Errorf("%s: more than %d files are based on each other", s.names[name], maxBases)
		}
		var err error
		if base, err = s.read(on, depth+1); err != nil {
			return nil, err
		}
	}
	b, err := s.parse(s.names[name], base)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.names[name], err)
	}
	s.blobs[name] = b
	return b, nil
}

func (s *setReader) parse(file string, base *btf.Blob) (*btf.Blob, error) {
	r, size, err := s.in.open(file)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if s.size += size; size > maxFile || s.size > maxSet {
		return nil, fmt.Errorf("too large: at most %d bytes of one file are read, and %d of all files",
			maxFile, maxSet)
	}
	data, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil {
		return nil, err
	}
	b, err := btf.Parse(data, base)
	if err != nil {
		return nil, err
	}
	return b, b.CheckRefs()
}
