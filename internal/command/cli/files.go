package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagSet is the flags of a command. It knows which of them name files.
type FlagSet struct {
	*pflag.FlagSet
	NoStdin string // why an argument - is not standard input; "" if it is

	command  *cobra.Command
	takes    Common
	values   Flags
	required []string // names of flags

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

// path is the value of a flag that names one file.
type path struct {
	name  *string
	given bool
}

func (p *path) Set(name string) error {
	if name == "" { // a variable of a shell that is not set
		return errors.New("name a file")
	}
	if p.given {
		return fmt.Errorf("%s is given already; name one file", *p.name)
	}
	*p.name, p.given = name, true
	return nil
}

func (p *path) String() string { return *p.name }

func (*path) Type() string { return "string" }

// output defines the flag -o.
func (f *FlagSet) output(usage string) {
	f.VarP(&path{name: &f.values.Output}, "output", "o", usage)
	f.outputs = append(f.outputs, fileFlag{"-o", &f.values.Output})
}

// InputVar defines a flag that names a file to read.
func (f *FlagSet) InputVar(file *string, name, usage string) {
	f.Var(&path{name: file}, name, usage)
	f.inputs = append(f.inputs, fileFlag{"--" + name, file})
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
		" names one to which an input refers: a member of a thin archive, or a .dwo file; repeat it for"+
		" several. Empty: no such file")
	f.follow = append(f.follow, fileList{"--follow", paths})
}

// checkFollow refuses what has files looked for beside --follow.
func (f *FlagSet) checkFollow() error {
	for _, dirs := range f.inputDirs {
		if f.Changed("follow") && f.Changed(strings.TrimPrefix(dirs.flag, "--")) {
			return Usagef("--follow and %s contradict each other: --follow names all files", dirs.flag)
		}
	}
	return nil
}

// OutputVar defines a flag that names a file to write.
func (f *FlagSet) OutputVar(file *string, name, usage string) {
	f.Var(&path{name: file}, name, usage)
	f.outputs = append(f.outputs, fileFlag{"--" + name, file})
}

// OutputDirVar defines a flag that names a directory to write to. Several may name the same.
func (f *FlagSet) OutputDirVar(file *string, name, usage string) {
	f.Var(&path{name: file}, name, usage)
	f.outputDirs = append(f.outputDirs, fileFlag{"--" + name, file})
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
