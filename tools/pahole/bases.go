package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/link/base"
)

// openBase opens what the BTF of the files stands on, if there is --btf_base.
//
// A build calls this program for each of its modules, on the same vmlinux; and to index vmlinux's
// BTF takes longer than all else for a small module. So the first call leaves the index beside
// vmlinux for the others.
func (c *command) openBase() (*base.Files, error) {
	if c.base == "" {
		return base.Open(nil)
	}
	index := ""
	if !c.features.Has(features.DistilledBase) { // that needs the BTF itself
		index = indexOf(c.base)
	}
	if index == "" {
		return base.Open([]string{c.base})
	}
	if found, err := base.Open([]string{index}); err == nil {
		return found, nil
	}
	data, err := base.Index(c.base, nil)
	if err != nil {
		return nil, err
	}
	if err := cli.WriteFile(index, cli.Bytes(data)); err != nil {
		return base.Open([]string{c.base})
	}
	removeOlder(index)
	return base.Open([]string{index})
}

// smallBase is the size, in bytes, of BTF that is indexed faster than an index is written and
// found.
const smallBase = 64 << 10

// An index is called .tmp_vmlinux.DIGEST.btfbase. make clean removes what begins so (Kbuild's top
// Makefile). The digest is that of the BTF, so an index is never taken for that of other BTF.
const (
	indexPrefix = ".tmp_"
	indexSuffix = ".btfbase"
	digestLen   = 24 // in hexadecimal digits
)

// indexOf returns where the index of the BTF in the file at path is, or is to be: in the same
// directory. It returns "" if none is wanted: for small BTF, for a directory that can't be written,
// and for a path from the root, by which modules outside of the tree name a kernel that is
// installed; a build should leave nothing there. What is wrong with a file is for base.Open to say.
func indexOf(path string) string {
	dir, name := filepath.Split(path)
	if filepath.IsAbs(path) || unix.Access(filepath.Clean(dir), unix.W_OK) != nil {
		return ""
	}
	f, data, err := btf.Open(path)
	if f != nil {
		defer f.Close()
		data, err = btf.Section(f, btf.SectionTypes)
		if f.Section(btf.SectionBase) != nil {
			return ""
		}
	}
	if err != nil || len(data) < smallBase {
		return ""
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:digestLen/2])
	return filepath.Join(dir, indexPrefix+name+"."+digest+indexSuffix)
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
			strings.HasSuffix(other, indexSuffix) {
			os.Remove(filepath.Join(dir, other))
		}
	}
}
