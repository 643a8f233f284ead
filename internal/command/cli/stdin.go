package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
)

// Stdin is the path that replaces "-" as an input, so that verbs can map standard input.
const Stdin = "/dev/stdin"

// maxStdin is the maximum number of bytes that are read from standard input.
const maxStdin = 1 << 34

// takeStdin replaces "-" as an input by Stdin. The parameter args has the command's arguments: they
// are files. The result undo restores the standard input of the process.
// Rule: standard input as a file.
func (f *FlagSet) takeStdin(env *Env, args []string) (undo func(), err error) {
	var found []*string
	collect := func(path *string) {
		if *path == "-" {
			found = append(found, path)
		}
	}
	for i := range args {
		collect(&args[i])
	}
	if len(found) > 0 && f.NoStdin != "" {
		return nil, Usagef("the argument - doesn't mean standard input here: %s", f.NoStdin)
	}
	for _, in := range f.inputs {
		collect(in.path)
	}
	for _, list := range slices.Concat(f.inputLists, f.debugFiles) {
		for i := range *list.paths {
			collect(&(*list.paths)[i])
		}
	}
	switch {
	case len(found) == 0:
		return func() {}, nil
	case len(found) > 1:
		return nil, Usagef("%d inputs are standard input (-), which can be read only once", len(found))
	}
	*found[0] = Stdin
	if env.Stdin == os.Stdin && atStart(os.Stdin) {
		return func() {}, nil
	}
	return spool(env.Stdin)
}

// atStart reports whether a file opened at the path Stdin would be read from its first byte.
func atStart(stdin *os.File) bool {
	info, err := stdin.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	if offset, err := stdin.Seek(0, io.SeekCurrent); err != nil || offset != 0 {
		return false
	}
	again, err := os.Open(Stdin)
	if err == nil {
		again.Close()
	}
	return err == nil
}

// spool copies a pipe to an unnamed file, and makes this file the standard input until undo runs.
func spool(from io.Reader) (undo func(), err error) {
	file, err := os.CreateTemp("", "stdin")
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	defer file.Close()
	os.Remove(file.Name())
	n, err := io.Copy(file, io.LimitReader(from, maxStdin+1))
	if err == nil && n > maxStdin {
		err = fmt.Errorf("more than the limit of %d bytes; pass a file", maxStdin)
	}
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	const stdin = 0
	before, err := syscall.Dup(stdin)
	if err == nil {
		err = syscall.Dup3(int(file.Fd()), stdin, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return func() {
		syscall.Dup3(before, stdin, 0)
		syscall.Close(before)
	}, nil
}
