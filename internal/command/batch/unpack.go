package batch

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/kernelimage"
	"github.com/rules-btf/rules_btf/internal/format/packages"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/message"
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
// archive's modules. Messages show the archive in place of the directory. The function remove
// removes the directories.
func unpackArchives(env *cli.Env, args []string) (unpacked []string, remove func(), err error) {
	var dirs []func()
	remove = func() {
		for _, remove := range dirs {
			remove()
		}
	}
	for _, arg := range args {
		if isArchive(arg) {
			dir, removeDir, err := cli.TempDir(env.Output, arg)
			dirs = append(dirs, removeDir)
			if err == nil {
				err = unpackModules(arg, dir)
			}
			if err != nil {
				return nil, remove, err
			}
			arg = dir
		}
		unpacked = append(unpacked, arg)
	}
	return unpacked, remove, nil
}

// unpackModules writes the modules in an archive (*.ko and *.ko.debug) to a directory, one after
// the other. Compressed modules are decompressed. Other files and links are skipped: "make
// modules_install" writes links to the kernel's sources.
// Rule: modules in archives: which files are read.
func unpackModules(path, dir string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s: %w", path, message.Empty("an archive of modules"))
	}
	data, err := mapped.Map(f, info, path, 0, int(info.Size()), unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	defer mapped.Unmap(data)
	if !packages.Is(data) {
		return fmt.Errorf("%s: neither a tar archive nor a package of a distribution; "+
			"unpack it, and pass the directory", path)
	}
	budget := &kernelimage.Budget{Limit: int64(kernelimage.Limit(len(data), 0))}
	modules := 0
	err = packages.Each(data, budget, func(f packages.File) error {
		if !strings.HasSuffix(strings.TrimSuffix(unpackedName(f.Name), ".debug"), ".ko") {
			return nil
		}
		modules++
		err := unpackModule(dir, f, budget)
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err // without the temporary path
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case modules == 0:
		return fmt.Errorf("%s: there is no file *.ko in this archive; pass the "+
			"package with the modules", path)
	}
	return nil
}

// unpackModule writes a module that is in an archive to a directory, decompressed.
func unpackModule(dir string, f packages.File, budget *kernelimage.Budget) error {
	if f.Link != "" || f.Special {
		return errors.New("not a regular file; unpack the archive, and pass the directory")
	}
	name := unpackedName(f.Name)
	path := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var w *os.File
	if err == nil {
		w, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the archive has %s twice; unpack it, and pass the directory", name)
	}
	if err != nil {
		return err
	}
	defer w.Close()
	if name == f.Name {
		_, err = io.Copy(w, f)
	} else {
		err = decompress(&spender{w, budget}, f)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("truncated; make the archive again")
	}
	return cmp.Or(err, w.Close())
}

// decompress writes the content of a compressed file in an archive to w.
func decompress(w io.Writer, f packages.File) error {
	packed, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	r, err := kernelimage.NewReader(packed)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(w, r)
	return err
}

// spender is a writer whose bytes count towards a budget.
type spender struct {
	to     io.Writer
	budget *kernelimage.Budget
}

func (s *spender) Write(b []byte) (int, error) {
	if err := s.budget.Spend(len(b)); err != nil {
		return 0, err
	}
	return s.to.Write(b)
}
