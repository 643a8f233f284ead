package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/cli"
	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/report"
)

// conversion are the flags of the verbs that read DWARF.
type conversion struct {
	output   *string
	features *string
	exclude  *string
	jobs     *int
	skip     *bool
	report   *report.Flags
}

func conversionFlags(flags *pflag.FlagSet, what string) conversion {
	return conversion{
		output: flags.StringP("output", "o", "", "where to write the "+what),
		features: flags.String("features", "default",
			"comma-separated names of features, as in pahole's --btf_features"),
		exclude: flags.String("lang-exclude", "",
			"comma-separated languages whose compilation units are left out, as in pahole's --lang_exclude (rust)"),
		jobs: flags.IntP("jobs", "j", 0,
			"threads; 0 means one a processor. The result doesn't depend on it"),
		skip: flags.Bool("skip-unencodable", false,
			"leave out units with something that BTF has no word for, such as C++ references, and warn; without it they are an error"),
		report: report.DefineFlags(flags),
	}
}

// options checks the flags and the arguments of verb, which takes one file.
func (c conversion) options(env *cli.Env, verb string, args []string) (convert.Options, error) {
	if len(args) != 1 {
		return convert.Options{}, cli.Usagef("%s: one input file is due, %d are given", verb, len(args))
	}
	set, err := features.Parse(*c.features)
	if err != nil {
		return convert.Options{}, cli.Usagef("%s: %v", verb, err)
	}
	languages, err := convert.ParseLanguages(*c.exclude)
	if err != nil {
		return convert.Options{}, cli.Usagef("%s: %v", verb, err)
	}
	if *c.jobs < 0 {
		return convert.Options{}, cli.Usagef("%s: -j %d: a number of threads is 0 or more", verb, *c.jobs)
	}
	relaxHeap(args[0])
	jobs := *c.jobs
	if jobs == 0 {
		jobs = runtime.GOMAXPROCS(0)
	}
	return convert.Options{Features: set, LangExclude: languages, Jobs: jobs, SkipUnencodable: *c.skip,
		Warn: func(line string) { env.Warn("%s", line) }, Counts: new(convert.Counts)}, nil
}

// checkOutput checks that -o is given, and is none of the inputs.
func (c conversion) checkOutput(verb string, inputs []string) error {
	if *c.output == "" {
		return cli.Usagef("%s: -o OUT is missing", verb)
	}
	if err := cli.CheckOutput(*c.output, inputs...); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}
