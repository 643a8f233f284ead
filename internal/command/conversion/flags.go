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
	flags.Var(&f.input, "input", "which `kind` of debugging information is read: dwarf, btf, which is"+
		" BTF that a compiler wrote, or auto: DWARF where a file has some, else BTF")
	flags.Var(&languages{codes: &f.excluded}, "lang-exclude", "comma-separated `languages` whose"+
		" compilation units are left out, as in pahole's --lang_exclude (rust)")
	flags.StringVar(&f.prefix, "kabi-prefix", "",
		"take every name that begins with `PREFIX` for PREFIX itself, as pahole's --kabi_prefix does")
	flags.BoolVar(&f.skip, "skip-unencodable", false,
		"leave out units with something that BTF has no word for, such as C++ pointers to members,"+
			" and warn; without it they are an error")
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
		"the supplementary file that dwz -m has made for the inputs: `FILE`; without it, it is looked"+
			" for by the name and the build-id that they hold")
	flags.DirsVar(&s.Dirs, "debug-dir", []string{debugfile.DefaultDir},
		"look for supplementary files, and for the debug files of stripped ones, beside the file and"+
			" in `DIR`; repeat it for several. Empty: look for nothing, also not beside the file")
	flags.FollowVar(&s.Follow)
	flags.MaxDecompressedVar(&s.MaxDecompressed)
}

// DWARFVar defines the flag --dwarf.
func DWARFVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.InputVar(&s.DWARF, "dwarf",
		"take the DWARF, and the symbols if they were stripped, from `FILE`, the separate debug file"+
			" (objcopy --only-keep-debug, eu-strip -f) of the input; without it, that of a stripped input"+
			" is looked for by its build-id and its .gnu_debuglink")
}

// SplitVar defines the flags that say where the units of split DWARF are, but for --follow, which
// files has.
func SplitVar(flags *cli.FlagSet, split *splitdwarf.Finder, files *debugfile.Search) {
	split.Follow = &files.Follow
	flags.DirsVar(&split.Dirs, "dwo-dir", nil, "a directory with the .dwo files of -gsplit-dwarf, at"+
		" the paths that the compiler gave them or the ends of these: `DIR`; may be repeated."+
		" Without it, they are looked for beside the input and where the compiler wrote them")
	flags.InputVar(&split.Package, "dwp", "a package of .dwo files: `FILE`; without it, INPUT.dwp if"+
		" that is there")
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
