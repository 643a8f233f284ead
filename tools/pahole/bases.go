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

// openBase opens the base that --btf_base names, if this option is given.
//
// A build calls this program for each of its modules, always with the same vmlinux as base. For a
// small module, most of the time is spent on indexing the BTF of vmlinux. So the first call writes
// the index to a file next to vmlinux, for the other calls.
func (c *command) openBase() (*base.Files, error) {
	if c.base == "" {
		return base.Open(nil)
	}
	if !c.features.Has(features.DistilledBase) { // a distilled base needs the BTF itself
		if found := openIndexed(c.base); found != nil {
			return found, nil
		}
	}
	return base.Open([]string{c.base})
}

// smallBase is a size in bytes. For smaller BTF, an index file would save no time.
const smallBase = 64 << 10

// An index is called .tmp_vmlinux.DIGEST.btfbase, with the digest of the BTF. make clean removes
// files with this prefix (Kbuild's top Makefile).
const (
	indexPrefix = ".tmp_"
	indexSuffix = ".btfbase"
	digestLen   = 24 // in hexadecimal digits
)

// openIndexed opens the index of the BTF in the file at path. If there is no index file in the same
// directory, openIndexed creates one there. It returns nil if there should be no index file: for
// small BTF, for a directory that isn't writable, and for an absolute path (builds of external
// modules pass an absolute path to an installed kernel, whose directory they shouldn't change). It
// also returns nil for a file with problems; base.Open reports these.
//
// A linker may replace or write the file at the same time. So an index is made from exactly the
// bytes that its digest covers, and an existing index is used only if it was made from the file's
// current BTF.
// Rule: pahole: index next to the file of --btf_base.
func openIndexed(path string) *base.Files {
	dir, name := filepath.Split(path)
	if filepath.IsAbs(path) || unix.Access(filepath.Clean(dir), unix.W_OK) != nil {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil // a pipe can be read only once
	}
	f, data, err := btf.Open(path)
	var origin btf.Origin
	if f != nil {
		defer f.Close()
		origin = btf.OriginOf(f)
		data, err = baseOf(f)
	}
	if err != nil || len(data) < smallBase {
		return nil
	}
	source := base.NewSource(data)
	source.Path, source.Origin = path, origin
	sum := source.Sum()
	index := filepath.Join(dir, indexPrefix+name+"."+hex.EncodeToString(sum[:digestLen/2])+indexSuffix)
	if info, err := os.Lstat(index); err == nil {
		if !info.Mode().IsRegular() {
			return nil // a FIFO, a link or a directory is not our index
		}
		if found, err := source.Open(index); err == nil {
			return found
		}
	}
	if source = base.NewSource(bytes.Clone(data)); source.Sum() != sum {
		return nil // the file is being written
	}
	source.Path, source.Origin = path, origin
	made, found, err := source.Index(index)
	if err != nil {
		return nil
	}
	if cli.WriteFile(index, cli.Bytes(made)) == nil {
		removeOlder(index)
	}
	return found
}

// baseOf returns the BTF of an ELF file, or nil if it can't be a base of other BTF.
func baseOf(f *elf.File) ([]byte, error) {
	if f.Section(btf.SectionBase) != nil || f.Section(object.SectionUnits) != nil {
		return nil, nil
	}
	return btf.Section(f, btf.SectionTypes)
}

// removeOlder removes all other indices of the same file, which were made from older BTF.
func removeOlder(index string) {
	dir, name := filepath.Split(index)
	start := name[:len(name)-len(indexSuffix)-digestLen]
	entries, err := os.ReadDir(filepath.Clean(dir))
	if err != nil {
		return // older indices do no harm
	}
	for _, e := range entries {
		other := e.Name()
		if other != name && len(other) == len(name) && strings.HasPrefix(other, start) &&
			strings.HasSuffix(other, indexSuffix) && e.Type().IsRegular() {
			os.Remove(filepath.Join(dir, other))
		}
	}
}
