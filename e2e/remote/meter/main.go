// Command meter takes the place of btfgen or btfdedup in a build. It runs the real tool, and writes
// the costs of this run to a file.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// The option -ldflags -X sets these: the tool to run, and the directory for the files with costs.
var tool, notes string

func main() {
	cmd := exec.Command(tool, os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	files := mentioned(os.Args[1:])
	in, inFiles := sizes(files, nil)
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fail(err)
	}
	if err == nil {
		out, _ := sizes(files, in)
		var bytes int64
		for _, size := range in {
			bytes += size
		}
		var written int64
		for _, size := range out {
			written += size
		}
		usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		note(map[string]any{
			"Verb": os.Args[1], "Memory": usage.Maxrss, "In": bytes, "InFiles": inFiles, "Out": written,
			"CPU": (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		})
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "meter:", err)
	os.Exit(1)
}

// mentioned returns the arguments, including those in parameter files. They may name files.
func mentioned(args []string) []string {
	var files []string
	for _, arg := range args {
		name, ok := strings.CutPrefix(arg, "@")
		if !ok {
			files = append(files, arg)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			fail(err)
		}
		for sc := bufio.NewScanner(f); sc.Scan(); {
			files = append(files, sc.Text())
		}
		f.Close()
	}
	return files
}

// sizes returns the sizes of those files that exist and aren't in known, and the files' number.
func sizes(files []string, known map[string]int64) (map[string]int64, int) {
	found := map[string]int64{}
	for _, name := range files {
		if _, ok := known[name]; ok {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			found[name] = info.Size()
		}
	}
	return found, len(found)
}

func note(values map[string]any) {
	if err := os.MkdirAll(notes, 0o777); err != nil {
		fail(err)
	}
	text, err := json.Marshal(values)
	if err != nil {
		fail(err)
	}
	f, err := os.CreateTemp(notes, "note")
	if err != nil {
		fail(err)
	}
	if _, err := f.Write(text); err != nil {
		fail(err)
	}
	if err := f.Close(); err != nil {
		fail(err)
	}
}
