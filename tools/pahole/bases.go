package main

import (
	"bytes"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
)

// openBase opens what the BTF of the files is based on, if there is --btf_base.
//
// A build calls this program for each of its modules, on the same vmlinux; and to index vmlinux's
// BTF takes longer than all else for a small module. So the first call leaves the index beside
// vmlinux for the others.
func (c *command) openBase() (*base.Files, error) {
	if c.base == "" {
		return base.Open(nil)
	}
	if !c.features.Has(features.DistilledBase) { // that needs the BTF itself
		if found := indexed(c.base); found != nil {
			return found, nil
		}
	}
	return base.Open([]string{c.base})
}

// smallBase is the size, in bytes, of BTF that is indexed faster than an index is written and
// found.
const smallBase = 64 << 10

// An index is called .tmp_vmlinux.DIGEST.btfbase. make clean removes what begins so (Kbuild's top
// Makefile). The digest is that of the BTF.
const (
	indexPrefix = ".tmp_"
	indexSuffix = ".btfbase"
	digestLen   = 24 // in hexadecimal digits
)

// indexed opens the index of the BTF in the file at path: the one in the same directory, or else a
// new one, which it leaves there. It returns nil if no index is wanted: for small BTF, for a
// directory that can't be written, and for a path from the root, by which modules outside of the
// tree name a kernel that is installed; a build should leave nothing there. What is wrong with a
// file is for base.Open to say.
//
// The file may be replaced or written to meanwhile, by a linker. So an index is made of the very
// bytes whose digest it has, and one that is there is used only if it was made of BTF that is here
// now.
func indexed(path string) *base.Files {
	dir, name := filepath.Split(path)
	if filepath.IsAbs(path) || unix.Access(filepath.Clean(dir), unix.W_OK) != nil {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // a pipe can be read once only
	}
	f, data, err := btf.Open(path)
	machine := uint16(0)
	if f != nil {
		defer f.Close()
		machine = uint16(f.Machine)
		data, err = baseOf(f)
	}
	if err != nil || len(data) < smallBase {
		return nil
	}
	source := base.NewSource(data)
	source.Path, source.Machine = path, machine
	sum := source.Sum()
	index := filepath.Join(dir, indexPrefix+name+"."+hex.EncodeToString(sum[:digestLen/2])+indexSuffix)
	if info, err := os.Lstat(index); err == nil {
		if !info.Mode().IsRegular() {
			return nil // a FIFO, a link, a directory: none of ours
		}
		if found, err := source.Open(index); err == nil {
			return found
		}
	}
	if source = base.NewSource(bytes.Clone(data)); source.Sum() != sum {
		return nil // the file is being written
	}
	source.Path, source.Machine = path, machine
	made, found, err := source.Index(index)
	if err != nil {
		return nil
	}
	if cli.WriteFile(index, cli.Bytes(made)) == nil {
		removeOlder(index)
	}
	return found
}

// baseOf returns the BTF of an ELF file, nil if it isn't a base of others.
func baseOf(f *elf.File) ([]byte, error) {
	if f.Section(btf.SectionBase) != nil || f.Section(object.SectionUnits) != nil {
		return nil, nil
	}
	return btf.Section(f, btf.SectionTypes)
}

// removeOlder removes the other indices of the file that an index is of, which it had other BTF
// for.
func removeOlder(index string) {
	dir, name := filepath.Split(index)
	start := name[:len(name)-len(indexSuffix)-digestLen]
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // they do no harm
	}
	for _, e := range entries {
		other := e.Name()
		if other != name && len(other) == len(name) && strings.HasPrefix(other, start) &&
			strings.HasSuffix(other, indexSuffix) && e.Type().IsRegular() {
			os.Remove(filepath.Join(dir, other))
		}
	}
}
