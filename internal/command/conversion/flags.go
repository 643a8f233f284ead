// Package conversion has the flags of the commands that make BTF from debugging information.
package conversion

import (
	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/splitdwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/language"
	"github.com/rules-btf/rules_btf/internal/pipeline"
)

// Flags are the flags of the verbs that convert debugging information.
type Flags struct {
	Files      debugfile.Search
	SplitDWARF splitdwarf.Finder // finds the units of split DWARF
	Input      pipeline.Input

	excluded map[uint64]bool
	prefix   string
}

// Define defines the flags of a verb.
func (f *Flags) Define(flags *cli.FlagSet) {
	f.Input = pipeline.InputAuto
	flags.Var(&f.Input, "input", "the `kind` of debugging information to read: dwarf, btf "+
		"(written by the compiler), or auto (DWARF if a file has any, else its BTF)")
	f.DefineDWARF(flags)
}

// DefineDWARF defines the flags of a verb that reads only DWARF.
func (f *Flags) DefineDWARF(flags *cli.FlagSet) {
	FilesVar(flags, &f.Files)
	f.SplitDWARF.Files = &f.Files
	flags.Var(&languages{codes: &f.excluded}, "lang-exclude", "leave out compilation units in these"+
		" comma-separated `languages`, such as rust, like pahole's --lang_exclude")
	flags.StringVar(&f.prefix, "kabi-prefix", "",
		"cut every name that begins with `PREFIX` down to PREFIX, like pahole's --kabi_prefix")
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

// FilesVar defines the flags --debug-file and --debug-dir.
func FilesVar(flags *cli.FlagSet, s *debugfile.Search) {
	flags.DebugFilesVar(&s.Named)
	flags.DirsVar(&s.Dirs, "debug-dir",
		"search for debug files, supplementary files of dwz, .dwo files and packages of these in `DIR` "+
			"and next to the input; repeat the flag for several directories. By default, "+
			debugfile.DefaultDir+" is searched, and .dwo files are also read where the compiler wrote "+
			"them. An empty DIR turns the search off")
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
	f.Files.Tell = env.Tell
	return &f.Files
}

// Options returns the options of the conversion.
func (f *Flags) Options(env *cli.Env) convert.Options {
	return convert.Options{Features: env.Features, LangExclude: f.excluded, KABIPrefix: f.prefix,
		Jobs: env.Jobs, SplitDWARF: &f.SplitDWARF, Warn: func(line string) { env.Warn("%s", line) }}
}
