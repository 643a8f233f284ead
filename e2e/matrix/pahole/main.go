// Command pahole is called in pahole's place by the kernel builds in e2e/matrix. It runs the
// program MATRIX_OURS. If MATRIX_CALLS names a directory and BTF is encoded, it also runs dwarves'
// pahole on a copy of the file, and writes the BTF and the costs of both programs to the directory.
package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
	"github.com/rules-btf/rules_btf/e2e/matrix/record"
)

func main() {
	ours, dir := os.Getenv(record.Ours), os.Getenv(record.Directory)
	if ours == "" {
		fatal(errors.New(record.Ours + " isn't set"))
	}
	if dir == "" || !slices.Contains(os.Args[1:], "-J") {
		fatal(syscall.Exec(ours, append([]string{ours}, os.Args[1:]...), os.Environ()))
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		fatal(err)
	}
	if err := both(ours, dir, os.Args[1:]); err != nil {
		fatal(err)
	}
}

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "e2e/matrix/pahole:", err)
	os.Exit(1)
}

const detached = "--btf_encode_detached="

// both runs pahole on a copy of the file that the last argument names, and then our program on the
// file itself. Both programs get Kbuild's arguments.
func both(ours, dir string, args []string) error {
	file := args[len(args)-1]
	c := record.Call{File: filepath.Base(file), Args: args}
	prefix := filepath.Join(dir, c.File)
	// Making the copy also brings the file into the page cache, so no program has an advantage.
	copied := prefix + ".copy"
	if err := copyFile(copied, file); err != nil {
		return err
	}
	defer os.Remove(copied)

	theirs := slices.Clone(args)
	theirs[len(args)-1] = copied
	out, oursOut := copied, file
	for i, arg := range theirs {
		if o, ok := strings.CutPrefix(arg, detached); ok {
			out, oursOut = prefix+".pahole.btf", o
			theirs[i] = detached + out
		}
	}
	var err error
	if c.Pahole, c.PaholeSaid, err = run("pahole", theirs); err != nil {
		return fmt.Errorf("pahole %s: %w: %s", strings.Join(theirs, " "), err, c.PaholeSaid)
	}
	if c.Ours, c.OursSaid, err = run(ours, args); err != nil {
		os.Stderr.WriteString(c.OursSaid)
		return err
	}
	os.Stderr.WriteString(c.OursSaid)
	for _, side := range []struct{ out, name string }{{out, "pahole"}, {oursOut, "ours"}} {
		err := keep(side.out, prefix+"."+side.name)
		if side.name == "pahole" && errors.Is(err, fs.ErrNotExist) {
			continue // for a module without types that vmlinux lacks, it writes nothing
		}
		if err != nil {
			return err
		}
	}
	return c.Write(dir)
}

func run(program string, args []string) (measure.Run, string, error) {
	var said bytes.Buffer
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &said, &said
	r, err := measure.Of(cmd)
	return r, said.String(), err
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}

// keep copies the BTF in a raw or ELF file to prefix.btf, and a distilled base to prefix.base.btf.
func keep(out, prefix string) error {
	f, err := elf.Open(out)
	var notELF *elf.FormatError
	if errors.As(err, &notELF) {
		if out == prefix+".btf" {
			return nil
		}
		return copyFile(prefix+".btf", out)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	for name, path := range map[string]string{".BTF": ".btf", ".BTF.base": ".base.btf"} {
		section := f.Section(name)
		if section == nil {
			continue
		}
		data, err := section.Data()
		if err != nil {
			return err
		}
		if err := os.WriteFile(prefix+path, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}
