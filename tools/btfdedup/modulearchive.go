package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/format/packages"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
)

// archiveEnds are the ends of the names of archives. The rule modules_btf has the same list.
var archiveEnds = []string{".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.zst", ".deb", ".rpm"}

func isArchive(path string) bool {
	for _, end := range archiveEnds {
		if strings.HasSuffix(path, end) {
			info, err := os.Stat(path)
			return err == nil && info.Mode().IsRegular()
		}
	}
	return false
}

// unpackArchives replaces each archive among the arguments with a temporary directory that has the
// archive's modules. Messages name the archive in place of the directory. The function remove
// removes the directories.
func unpackArchives(env *cli.Env, args []string, maxDecompressed int) (
	unpacked []string, remove func(), err error) {
	var undo []func()
	var names []string // pairs: a directory and its archive
	remove = func() {
		for _, f := range undo {
			f()
		}
	}
	for _, arg := range args {
		if isArchive(arg) {
			archive := arg
			var removeDir func()
			if arg, removeDir, err = cli.TempDir(); err == nil {
				undo = append(undo, removeDir)
				names = append(names, arg+"/", archive+": ", arg, archive)
				err = unpackModules(archive, arg, env.Jobs, maxDecompressed)
			}
			if err != nil {
				remove()
				return nil, nil, fmt.Errorf("%s: %w", archive, err)
			}
		}
		unpacked = append(unpacked, arg)
	}
	if len(names) > 0 {
		env.Stderr = &renaming{env.Stderr, strings.NewReplacer(names...)}
	}
	return unpacked, remove, nil
}

// renaming is a writer that replaces names.
type renaming struct {
	to    io.Writer
	names *strings.Replacer
}

func (r *renaming) Write(b []byte) (int, error) {
	if _, err := r.names.WriteString(r.to, string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// unpackModules writes the modules in an archive (*.ko and *.ko.debug) to a directory. Compressed
// modules are decompressed. All other files are skipped, and so are links that are not modules:
// "make modules_install" writes links to the kernel's sources.
func unpackModules(archive, dir string, jobs, maxDecompressed int) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data, err := mapped.Map(f, info, archive, 0, int(info.Size()), unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer mapped.Unmap(data)
	if !packages.Is(data) {
		return errors.New("neither a tar archive nor a package of a distribution")
	}
	budget := &kernelimage.Budget{Limit: int64(kernelimage.Limit(len(data), maxDecompressed))}
	opts := packages.Options{Jobs: jobs, Budget: budget}
	return packages.Each(data, opts, func(f packages.File) error {
		name := unpackedName(f.Name)
		switch {
		case !strings.HasSuffix(strings.TrimSuffix(name, ".debug"), ".ko"):
			return nil
		case f.Link != "" || f.Special:
			return fmt.Errorf("%s: not a regular file; unpack the archive, and pass the directory", f.Name)
		}
		out := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		return unpackModule(out, f, budget, maxDecompressed)
	})
}

// unpackModule writes a module that is in an archive to the file out, decompressed.
func unpackModule(out string, f packages.File, budget *kernelimage.Budget, limit int) error {
	w, err := os.Create(out)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	defer w.Close()
	if unpackedName(f.Name) == f.Name {
		_, err = io.Copy(w, f)
	} else {
		var packed []byte
		if packed, err = io.ReadAll(f); err == nil {
			var content kernelimage.Content
			if content, err = kernelimage.Unpack(f.Name, packed, limit); err != nil {
				return err
			}
			if err = budget.Spend(content.Decompressed); err == nil {
				_, err = w.Write(content.Data)
			}
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}
