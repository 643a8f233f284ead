package buildfiles

import (
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Files returns the files of a tree that the rules of its packages name, sorted.
func Files(packages map[string]*Package) (names []string) {
	for dir, p := range packages {
		for _, file := range p.Files {
			names = append(names, path.Join(dir, file))
		}
	}
	slices.Sort(names)
	return names
}

// Link makes symbolic links below dir to the files of a tree that the rules name.
func Link(tree, dir string, packages map[string]*Package) error {
	for _, name := range Files(packages) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join(tree, filepath.FromSlash(name)), to); err != nil {
			return err
		}
	}
	return nil
}
