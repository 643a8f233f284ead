// Package conversion has the flags of the commands that make BTF from debugging information.
package conversion

import (
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
)

// Flags are the flags of the verbs that convert debugging information.
type Flags struct {
	Files debugfile.Search
	Split splitdwarf.Finder // finds the units of split DWARF

	input    convert.Input
	excluded map[uint64]bool
	prefix   string
	skip     bool
}

// Define defines the flags of a verb.
func (f *Flags) Define(flags *cli.FlagSet) {
	f.input = convert.InputAuto
	flags.Var(&f.input, "input", "the `kind` of debugging information to read: dwarf, btf "+
		"(written by the compiler), or auto (DWARF if a file has any, else its BTF)")
	f.DefineDWARF(flags)
}

// DefineDWARF defines the flags of a verb that reads only DWARF.
func (f *Flags) DefineDWARF(flags *cli.FlagSet) {
	FilesVar(flags, &f.Files)
	flags.Var(&languages{codes: &f.excluded}, "lang-exclude", "leave out compilation units in these"+
		" comma-separated `languages`, such as rust, like pahole's --lang_exclude")
	flags.StringVar(&f.prefix, "kabi-prefix", "",
		"cut every name that begins with `PREFIX` down to PREFIX, like pahole's --kabi_prefix")
	flags.BoolVar(&f.skip, "skip-unencodable", false,
		"warn about units with types that BTF can't express, such as C++ pointers to members, "+
			"and leave these units out; by default such types are an error")
	SplitVar(flags, &f.Split, &f.Files)
}

// languages is a flag whose value is a list of languages. It stores their DWARF codes.
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

// FilesVar defines the flags --alt, --debug-dir, --follow and --max-decompressed.
func FilesVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.InputVar(&s.Alt, "alt",
		"the supplementary `FILE` that dwz -m made for the inputs; by default, the file is found by"+
			" the name and build-id in the inputs")
	flags.DirsVar(&s.Dirs, "debug-dir", []string{debugfile.DefaultDir},
		"search for debug files and supplementary files in `DIR` and next to the input; repeat the"+
			" flag for several directories. An empty DIR turns the search off")
	flags.FollowVar(&s.Follow)
	flags.MaxDecompressedVar(&s.MaxDecompressed)
}

// DWARFVar defines the flag --dwarf.
func DWARFVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.InputVar(&s.DWARF, "dwarf",
		"the separate debug `FILE` of the input (from objcopy --only-keep-debug or eu-strip -f),"+
			" with the input's DWARF and possibly symbols; by default, the debug file of a stripped"+
			" input is found by build-id and .gnu_debuglink")
}

// SplitVar defines the flags --dwo-dir and --dwp. The parameter files holds the values of --follow.
func SplitVar(flags *cli.FlagSet, split *splitdwarf.Finder, files *debugfile.Search) {
	split.Follow = &files.Follow
	flags.DirsVar(&split.Dirs, "dwo-dir", nil, "search for .dwo files (-gsplit-dwarf) in `DIR`, by"+
		" their whole paths or the ends of these paths; repeat the flag for several directories. By"+
		" default, .dwo files are searched for where the compiler wrote them, and in the directory"+
		" of the input")
	flags.InputVar(&split.Package, "dwp", "the `FILE` that dwp made from .dwo files; the default"+
		" is INPUT.dwp, if it exists")
}

// CheckInline returns an error for the feature inline, which only verbs have that make the BTF of a
// linked file in one go: what sites say depends on the code that was linked.
func CheckInline(env *cli.Env) error {
	if !env.Features.Has(features.Inline) {
		return nil
	}
	return cli.Usagef("the feature %v is only for btfgen elf; use btfgen inline or btfgen modules "+
		"--inline-dir to make the BTF of inlined functions", features.Inline)
}

// Search returns where to search for debug files.
func (f *Flags) Search(env *cli.Env) *debugfile.Search {
	s := f.Files
	s.Tell = env.Tell
	return &s
}

// Options returns the options of the conversion.
func (f *Flags) Options(env *cli.Env) convert.Options {
	return convert.Options{Features: env.Features, LangExclude: f.excluded, KABIPrefix: f.prefix,
		Input: f.input, Jobs: env.Jobs, SkipUnencodable: f.skip,
		Warn:   func(line string) { env.Warn("%s", line) },
		Counts: new(convert.Counts), Split: &f.Split}
}
