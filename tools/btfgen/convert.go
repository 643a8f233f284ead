package main

import (
	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
)

// conversion is the flags of the verbs that convert DWARF.
type conversion struct {
	exclude string
	skip    bool
}

func (c *conversion) define(flags *cli.FlagSet) {
	flags.StringVar(&c.exclude, "lang-exclude", "",
		"comma-separated `languages` whose compilation units are left out, as in pahole's"+
			" --lang_exclude (rust)")
	flags.BoolVar(&c.skip, "skip-unencodable", false,
		"leave out units with something that BTF has no word for, such as C++ references, and warn;"+
			" without it they are an error")
}

// options returns how to convert the file at path.
func (c *conversion) options(env *cli.Env, path string) (convert.Options, error) {
	languages, err := convert.ParseLanguages(c.exclude)
	if err != nil {
		return convert.Options{}, cli.Usagef("%v", err)
	}
	relaxHeap(path)
	return convert.Options{Features: env.Features, LangExclude: languages, Jobs: env.Jobs,
		SkipUnencodable: c.skip, Warn: func(line string) { env.Warn("%s", line) },
		Counts: new(convert.Counts)}, nil
}
