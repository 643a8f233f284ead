package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// FlagSet holds the flags of a command, and knows which of them name files.
type FlagSet struct {
	*pflag.FlagSet
	NoStdin string // why "-" as an argument isn't standard input; "" if it is

	command  *cobra.Command
	takes    Common
	values   Flags
	required []string // names of flags

	outputs, inputs []fileFlag
	inputLists      []fileList
	inputDirs       []fileList // a path may be empty
	debugFiles      []fileList // --debug-file, if the verb has it; a path may be empty
	outputDirs      []fileFlag // several flags may name the same directory
}

// fileFlag is a flag, as the user types it, and its value: a path, or "" if the flag is not given.
type fileFlag struct {
	flag string
	path *string
}

// fileList is a flag that may be repeated; its values are paths.
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
	if name == "" { // such as an unset shell variable
		return errors.New("specify a file")
	}
	if p.given {
		return fmt.Errorf("the flag is already set to %s; specify only one file", *p.name)
	}
	*p.name, p.given = name, true
	return nil
}

func (p *path) String() string { return *p.name }

func (*path) Type() string { return "string" }

func (f *FlagSet) output(usage string) { f.OutputVarP(&f.values.Output, "output", "o", usage) }

// InputVar defines a flag that names a file to read.
func (f *FlagSet) InputVar(file *string, name, usage string) {
	f.Var(&path{name: file}, name, usage)
	f.inputs = append(f.inputs, fileFlag{"--" + name, file})
}

// InputsVar defines a flag that may be repeated and names files to read.
func (f *FlagSet) InputsVar(paths *[]string, name, usage string) {
	f.StringArrayVar(paths, name, nil, usage)
	f.inputLists = append(f.inputLists, fileList{"--" + name, paths})
}

// DirsVar defines a flag that may be repeated and names directories to read.
func (f *FlagSet) DirsVar(paths *[]string, name, usage string) {
	f.StringArrayVar(paths, name, nil, usage)
	f.inputDirs = append(f.inputDirs, fileList{"--" + name, paths})
}

const debugFile = "debug-file"

// DebugFilesVar defines the flag --debug-file. If the flag is not given, paths is nil.
func (f *FlagSet) DebugFilesVar(paths *[]string) {
	f.StringArrayVar(paths, debugFile, nil, "allow inputs to refer to `FILE`, and to no file that "+
		"isn't named: a separate debug file (from objcopy --only-keep-debug or eu-strip -f), the "+
		"supplementary file of dwz -m, a .dwo file or a package of them (.dwp), or a member of a thin "+
		"archive; repeat the flag for several files; --debug-file= (empty) allows none")
	f.debugFiles = append(f.debugFiles, fileList{"--" + debugFile, paths})
}

// checkDebugFiles refuses --debug-file together with a flag that searches for files.
func (f *FlagSet) checkDebugFiles() error {
	for _, dirs := range f.inputDirs {
		if f.Changed(debugFile) && f.Changed(strings.TrimPrefix(dirs.flag, "--")) {
			return Usagef("--%s and %s can't be used together: --%[1]s names all files", debugFile,
				dirs.flag)
		}
	}
	return nil
}

// OutputVar defines a flag that names a file to write.
func (f *FlagSet) OutputVar(file *string, name, usage string) {
	f.OutputVarP(file, name, "", usage)
}

// OutputVarP is OutputVar with a short name, which messages use.
func (f *FlagSet) OutputVarP(file *string, name, short, usage string) {
	f.VarP(&path{name: file}, name, short, usage)
	f.outputs = append(f.outputs, fileFlag{flagName(name, short), file})
}

// OutputDirVarP defines a flag that names an output directory. Several flags may name the same one.
func (f *FlagSet) OutputDirVarP(file *string, name, short, usage string) {
	f.VarP(&path{name: file}, name, short, usage)
	f.outputDirs = append(f.outputDirs, fileFlag{flagName(name, short), file})
}

func flagName(name, short string) string {
	if short != "" {
		return "-" + short
	}
	return "--" + name
}

// check returns an error if an output is the same file as another output or an input, even if their
// paths differ. Several outputs may be the same device or pipe.
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
			return Usagef("%s and %s name the same output, %s", other.flag, out.flag, *out.path)
		}
	}
	for _, in := range inputs {
		if *out.path != "-" && same(in) {
			return Usagef("output %s is also an input (%s); write to another file", *out.path, in)
		}
	}
	return nil
}

// checkStdout returns an error if a flag such as "-o -" names standard output, but the process was
// started with standard output closed. For a closed descriptor, the Go runtime opens /dev/null for
// reading and writing (checkfds), so all writes would succeed. Shells open /dev/null only for
// writing, but daemons open it for both, so an output that is "-" by default is not checked.
func (f *FlagSet) checkStdout(env *Env) error {
	stdout, ok := env.Stdout.(*os.File)
	if !ok {
		return nil
	}
	for _, out := range f.outputs {
		if *out.path != "-" || !flagNamed(f.FlagSet, out.flag).Changed {
			continue
		}
		null, err := os.Stat(os.DevNull)
		info, other := stdout.Stat()
		flags, third := unix.FcntlInt(stdout.Fd(), unix.F_GETFL, 0)
		if errors.Join(err, other, third) == nil && os.SameFile(null, info) &&
			flags&unix.O_ACCMODE == unix.O_RDWR {
			return fmt.Errorf("%s -: standard output is closed", out.flag)
		}
	}
	return nil
}

// missingDirs warns about input directories that don't exist.
func (f *FlagSet) missingDirs(env *Env) {
	for _, list := range f.inputDirs {
		if !f.Changed(strings.TrimPrefix(list.flag, "--")) {
			continue
		}
		for _, dir := range *list.paths {
			if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
				env.Warn("%s %s: no such directory", list.flag, dir)
			}
		}
	}
}
