// Package conversion has the flags of the commands that make BTF of debugging information.
package conversion

import (
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/language"
)

// Flags are the flags of the verbs that convert debugging information.
type Flags struct {
	Files debugfile.Search
	Split splitdwarf.Finder // of the units of split DWARF

	input    convert.Input
	excluded map[uint64]bool
	prefix   string
	skip     bool
}

// Define defines the flags of a verb.
func (f *Flags) Define(flags *cli.FlagSet) {
	FilesVar(flags, &f.Files)
	f.input = convert.InputAuto
	flags.Var(&f.input, "input", "which `kind` of debugging information to read: dwarf, btf (written"+
		" by the compiler), or auto: the DWARF of a file, or its BTF if it has no DWARF")
	flags.Var(&languages{codes: &f.excluded}, "lang-exclude", "leave out compilation units in these"+
		" comma-separated `languages`, such as rust, as pahole's --lang_exclude does")
	flags.StringVar(&f.prefix, "kabi-prefix", "",
		"shorten every name that begins with `PREFIX` to PREFIX, as pahole's --kabi_prefix does")
	flags.BoolVar(&f.skip, "skip-unencodable", false,
		"leave out units with types that BTF can't express, such as C++ pointers to members, and warn;"+
			" the default is an error")
	SplitVar(flags, &f.Split, &f.Files)
}

// languages are the codes of languages, as a flag's value.
type languages struct {
	codes *map[uint64]bool
	list  string // as it was typed
}

func (l *languages) Set(list string) (err error) {
	*l.codes, err = language.Parse(list)
	l.list = list
	return err
}

func (l *languages) String() string { return l.list }

func (*languages) Type() string { return "string" }

func (*languages) Choices() (words []string, list bool) { return language.Names(), true }

// FilesVar defines the flags --alt, --debug-dir, --follow and --max-decompressed.
func FilesVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.InputVar(&s.Alt, "alt",
		"the supplementary `FILE` that dwz -m made for the inputs; the default is a search by the name"+
			" and build-id in the inputs")
	flags.DirsVar(&s.Dirs, "debug-dir", []string{debugfile.DefaultDir},
		"look for debug files and supplementary files in `DIR` and beside the input; repeat it for"+
			" several directories. Empty: don't look for any")
	flags.FollowVar(&s.Follow)
	flags.MaxDecompressedVar(&s.MaxDecompressed)
}

// DWARFVar defines the flag --dwarf.
func DWARFVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.InputVar(&s.DWARF, "dwarf",
		"the separate debug `FILE` of the input (objcopy --only-keep-debug, eu-strip -f), with its"+
			" DWARF and maybe its symbols; the default for a stripped input is a search by its build-id"+
			" and .gnu_debuglink")
}

// SplitVar defines the flags that say where the units of split DWARF are, but for --follow, which
// files has.
func SplitVar(flags *cli.FlagSet, split *splitdwarf.Finder, files *debugfile.Search) {
	split.Follow = &files.Follow
	flags.DirsVar(&split.Dirs, "dwo-dir", nil, "look for .dwo files (-gsplit-dwarf) in `DIR`, by their"+
		" paths or the ends of these; repeat it for several directories. The default is where the"+
		" compiler wrote them, and beside the input")
	flags.InputVar(&split.Package, "dwp", "the `FILE` that dwp made of .dwo files; the default is"+
		" INPUT.dwp, if it exists")
}

// Search returns where debug files are looked for.
func (f *Flags) Search(env *cli.Env) *debugfile.Search {
	s := f.Files
	s.Tell = env.Tell
	return &s
}

// Options returns how to convert.
func (f *Flags) Options(env *cli.Env) convert.Options {
	return convert.Options{Features: env.Features, LangExclude: f.excluded, KABIPrefix: f.prefix,
		Input: f.input, Jobs: env.Jobs, SkipUnencodable: f.skip,
		Warn:   func(line string) { env.Warn("%s", line) },
		Counts: new(convert.Counts), Split: &f.Split}
}
