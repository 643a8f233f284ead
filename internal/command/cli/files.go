package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// FlagSet is the flags that a verb defines. It knows which of them name files.
type FlagSet struct {
	*pflag.FlagSet
	outputs, inputs []fileFlag
	inputLists      []fileList
	inputDirs       []fileList // of which a name may be empty
	follow          []fileList // --follow, if the verb has it; a name may be empty
	outputDirs      []fileFlag // which may be the same
}

// fileFlag is a flag, as the user types it, whose value is a path, "" if it is not given.
type fileFlag struct {
	flag string
	path *string
}

// fileList is a flag that may be repeated, and whose values are paths.
type fileList struct {
	flag  string
	paths *[]string
}

// InputVar defines a flag that names a file to read.
func (f *FlagSet) InputVar(path *string, name, usage string) {
	f.StringVar(path, name, "", usage)
	f.inputs = append(f.inputs, fileFlag{"--" + name, path})
}

// InputsVar defines a flag that names files to read, and may be repeated.
func (f *FlagSet) InputsVar(paths *[]string, name, usage string) {
	f.StringArrayVar(paths, name, nil, usage)
	f.inputLists = append(f.inputLists, fileList{"--" + name, paths})
}

// DirsVar defines a flag that names directories to read, and may be repeated.
func (f *FlagSet) DirsVar(paths *[]string, name string, value []string, usage string) {
	f.StringArrayVar(paths, name, value, usage)
	f.inputDirs = append(f.inputDirs, fileList{"--" + name, paths})
}

// FollowVar defines the flag --follow. Without it, paths is nil.
func (f *FlagSet) FollowVar(paths *[]string) {
	f.StringArrayVar(paths, "follow", nil, "read no file that the command line doesn't name. `FILE`"+
		" is one that an input refers to, a member of a thin archive or a .dwo file; repeat it for"+
		" several. Empty: there is none")
	f.follow = append(f.follow, fileList{"--follow", paths})
}

// checkFollow refuses what has files looked for beside --follow.
func (f *FlagSet) checkFollow() error {
	for _, dirs := range f.inputDirs {
		if f.Changed("follow") && f.Changed(strings.TrimPrefix(dirs.flag, "--")) {
			return Usagef("--follow and %s contradict each other: the one names files, in the other they"+
				" are looked for", dirs.flag)
		}
	}
	return nil
}

// OutputVar defines a flag that names a file to write.
func (f *FlagSet) OutputVar(path *string, name, usage string) {
	f.StringVar(path, name, "", usage)
	f.outputs = append(f.outputs, fileFlag{"--" + name, path})
}

// OutputDirVar defines a flag that names a directory to write to. Several may name the same.
func (f *FlagSet) OutputDirVar(path *string, name, usage string) {
	f.StringVar(path, name, "", usage)
	f.outputDirs = append(f.outputDirs, fileFlag{"--" + name, path})
}

// moveTo makes the paths of the flags, and of the arguments, which it returns, those in dir, if dir
// isn't "".
func (f *FlagSet) moveTo(dir string, args []string) []string {
	for _, file := range slices.Concat(f.inputs, f.outputs) {
		*file.path = inDir(dir, *file.path)
	}
	for _, list := range slices.Concat(f.inputDirs, f.inputLists, f.follow) {
		for i, path := range *list.paths {
			(*list.paths)[i] = inDir(dir, path)
		}
	}
	moved := make([]string, len(args))
	for i, path := range args {
		moved[i] = inDir(dir, path)
	}
	return moved
}

// inDir is a path from dir on, if it is a relative one of a file.
func inDir(dir, path string) string {
	if dir == "" || path == "" || path == "-" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// checkEmpty refuses flags that are given and name no file, as with a variable of a shell that is
// not set.
func (f *FlagSet) checkEmpty() error {
	for _, file := range slices.Concat(f.inputs, f.outputs, f.outputDirs) {
		if name := strings.TrimPrefix(file.flag, "--"); *file.path == "" && name != file.flag &&
			f.Changed(name) {
			return Usagef("%s is empty; name a file", file.flag)
		}
	}
	for _, list := range f.inputLists {
		if slices.Contains(*list.paths, "") {
			return Usagef("%s is empty; name a file", list.flag)
		}
	}
	return nil
}

// check refuses an output that is another output or an input, by whatever path. Devices and pipes
// may be several.
func (out fileFlag) check(others []fileFlag, inputs []string) error {
	if *out.path == "" {
		return nil
	}
	info, err := os.Stat(*out.path)
	exists := err == nil && *out.path != "-"
	if exists && !info.Mode().IsRegular() {
		return nil
	}
	same := func(path string) bool {
		if filepath.Clean(path) == filepath.Clean(*out.path) {
			return true
		}
		if !exists {
			return false
		}
		other, err := os.Stat(path)
		return err == nil && os.SameFile(info, other)
	}
	for _, other := range others {
		if *other.path != "" && same(*other.path) {
			return Usagef("%s and %s name one output, %s", other.flag, out.flag, *out.path)
		}
	}
	for _, in := range inputs {
		if *out.path != "-" && same(in) {
			return Usagef("output %s is also an input (%s); write to another file", *out.path, in)
		}
	}
	return nil
}

// once are the names of the flags that name one file, and so can't be given twice.
func (f *FlagSet) once() (names []string) {
	for _, file := range slices.Concat(f.inputs, f.outputs, f.outputDirs) {
		if name, long := strings.CutPrefix(file.flag, "--"); long {
			names = append(names, name)
		}
	}
	return append(names, "output")
}

// missingDirs warns of directories to read that are not there.
func (f *FlagSet) missingDirs(env *Env) {
	for _, list := range f.inputDirs {
		if !f.Changed(strings.TrimPrefix(list.flag, "--")) {
			continue
		}
		for _, dir := range *list.paths {
			if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
				env.Warn("%s %s: there is no such directory", list.flag, dir)
			}
		}
	}
}
