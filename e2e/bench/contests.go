package main

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

// typicalObject is how much .debug_info the usual object of a kernel has.
const typicalObject = 200 << 10

// kernel compares on the whole linked kernel.
func (b *bench) kernel() error {
	var rows []contest
	for _, j := range b.jobs {
		c, err := b.compare(fmt.Sprintf("vmlinux, -j%d", j), b.runs, b.pahole(j, b.vmlinux),
			b.btfgen(j, b.vmlinux))
		if err != nil {
			return err
		}
		rows = append(rows, c)
	}
	b.table("The linked kernel", rows)
	return nil
}

// allModules compares on each module, against the kernel's BTF.
func (b *bench) allModules() error {
	for _, ko := range b.modules {
		if err := b.makeBase(); err != nil {
			return err
		}
		var rows []contest
		for _, j := range b.jobs {
			c, err := b.compare(fmt.Sprintf("%s, -j%d", filepath.Base(ko), j), b.runs,
				b.pahole(j, "--btf_base="+b.base, ko), b.btfgen(j, "--base="+b.base, ko))
			if err != nil {
				return err
			}
			rows = append(rows, c)
		}
		b.table("The module "+filepath.Base(ko)+", against the kernel's BTF", rows)
	}
	return nil
}

// anObject compares on an object file as the compiler left it: whole processes.
func (b *bench) anObject() error {
	if b.object == "" {
		return nil
	}
	path, size, err := typical(b.object)
	if err != nil {
		return err
	}
	ours := measure.Command{Name: "btfgen object",
		Argv: []string{b.tool("btfgen"), "object", "-j1", "-q", "-o", b.output(), path}}
	theirs := b.pahole(1, path)
	theirs.Name = "pahole -J"
	// Such runs are short, so that many of them cost nothing.
	name := shortened(path)
	c, err := b.compare(name, 10*b.runs, theirs, ours)
	if err != nil {
		return err
	}
	b.table(fmt.Sprintf("An object file: %s, with %d KB of .debug_info", name, size>>10), []contest{c})
	fmt.Fprintf(b.out, "\n%d runs of each.\n", 10*b.runs)
	return nil
}

// pahole is the command that writes the BTF of the file that args end in.
func (b *bench) pahole(jobs int, args ...string) measure.Command {
	j := "-j" + strconv.Itoa(jobs)
	argv := []string{"pahole", "-J", j, "--btf_features=" + paholeFeatures, "--lang_exclude=rust",
		"--btf_encode_detached=" + b.output()}
	return measure.Command{Name: "pahole -J " + j, Argv: append(argv, args...)}
}

// btfgen is our command for the same.
func (b *bench) btfgen(jobs int, args ...string) measure.Command {
	j := "-j" + strconv.Itoa(jobs)
	argv := []string{b.tool("btfgen"), "elf", j, "--lang-exclude=rust", "-q", "-o", b.output()}
	return measure.Command{Name: "btfgen elf " + j, Argv: append(argv, args...)}
}

// makeBase makes the kernel's BTF, once.
func (b *bench) makeBase() error {
	if b.base != "" {
		return nil
	}
	b.base = filepath.Join(b.dir, "vmlinux.btf")
	return b.makeBaseOf(b.vmlinux, b.base)
}

func (b *bench) makeBaseOf(vmlinux, out string) error {
	return b.prepare(b.tool("btfgen"), "elf", "--lang-exclude=rust", "-q", "-o", out, vmlinux)
}

// typical returns path if it is an object file; if it is a directory, the object file in it that is
// nearest to the usual size. size is that of its .debug_info.
func typical(path string) (found string, size uint64, err error) {
	err = filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || file != path && !strings.HasSuffix(file, ".o") {
			return err
		}
		n, err := debugInfo(file)
		if err != nil && file == path {
			return err
		}
		if n > 0 && (found == "" || distance(n, typicalObject) < distance(size, typicalObject)) {
			found, size = file, n
		}
		return nil
	})
	if err == nil && found == "" {
		err = fmt.Errorf("%s: no object file with .debug_info", path)
	}
	return found, size, err
}

// shortened is the end of a path: the file and up to two directories.
func shortened(path string) string {
	parts := strings.Split(filepath.ToSlash(path), "/")
	return strings.Join(parts[max(0, len(parts)-3):], "/")
}

// debugInfo is the uncompressed size of a file's .debug_info, 0 if it has none.
func debugInfo(path string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var n uint64
	for _, s := range f.Sections {
		if s.Name == ".debug_info" {
			n += s.Size
		}
	}
	return n, nil
}

func distance(a, b uint64) uint64 { return max(a, b) - min(a, b) }
