package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// elsewhere says which programs can do what this pahole can't.
const elsewhere = "to print types, use bpftool btf dump file FILE format c, or dwarves' pahole"

// errShow ends the parsing of a command line at an option that only prints a text.
var errShow = errors.New("show")

// flags returns a flag set with pahole 1.32's options for encoding BTF (pahole__options in
// pahole.c), and with the options that argp adds.
// Rule: pahole: command line. Source: pahole pahole.c pahole__options.
func (c *command) flags() *pflag.FlagSet {
	f := pflag.NewFlagSet("pahole", pflag.ContinueOnError)
	f.SortFlags = false
	f.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(strings.ReplaceAll(name, "-", "_"))
	})
	f.BoolVarP(&c.inPlace, "btf_encode", "J", false,
		"encode each FILE, and write the BTF to its section .BTF")
	f.Func("btf_encode_detached", "encode FILE, and write the raw BTF to `OUT`; FILE isn't changed",
		file(&c.detached))
	f.Func("btf_base", "encode split BTF based on `BASE`: an ELF file such as vmlinux, or raw BTF",
		file(&c.base))
	f.Func("btf_features", "encode the comma-separated features in `LIST`; \"default\" is the "+
		"set that kernels use, and a + before the list adds to that set; unknown names are ignored",
		func(list string) error { return c.addFeatures(list, false) })
	f.Func("btf_features_strict", "like --btf_features, but an unknown name in `LIST` is an error",
		func(list string) error { return c.addFeatures(list, true) })
	c.text(f, "supported_btf_features", "", "print the names of the features",
		func() string { return supported() + "\n" })
	f.BoolFunc("btf_gen_all", "the same as --btf_features=all",
		func(string) error { return c.addFeatures("all", false) })
	for _, o := range []struct {
		name, help string
		feature    features.Set
		on         bool
	}{
		{"btf_gen_floats", "turn on the feature float", features.Float, true},
		{"btf_gen_optimized", "turn on the feature optimized_func", features.OptimizedFunc, true},
		{"btf_attributes", "turn on the feature attributes", features.Attributes, true},
		{"btf_encode_force", "turn on the feature encode_force", features.EncodeForce, true},
		{"skip_encoding_btf_vars", "turn off the feature var", features.Var, false},
		{"skip_encoding_btf_decl_tag", "turn off the feature decl_tag", features.DeclTag, false},
		{"skip_encoding_btf_type_tag", "turn off the feature type_tag", features.TypeTag, false},
		{"skip_encoding_btf_enum64", "turn off the feature enum64", features.Enum64, false},
		{"skip_encoding_btf_inconsistent_proto", "turn on the feature consistent_func",
			features.ConsistentFunc, true},
	} {
		f.BoolFunc(o.name, o.help, func(string) error {
			c.features.Set = c.features.Without(o.feature)
			if o.on {
				c.features.Set = c.features.With(o.feature)
			}
			return nil
		})
	}
	f.Bool("reproducible_build", false, "accepted for compatibility, ignored: the BTF is always "+
		"reproducible")
	f.StringVar(&c.exclude, "lang_exclude", c.exclude,
		"leave out compilation units in these `LANGUAGES`, such as rust")
	f.StringVar(&c.prefix, "kabi_prefix", "", "cut names that begin with `PREFIX` down to PREFIX")
	f.FuncP("jobs", "j", "the number `N` of threads; the default is one per processor", c.setJobs)
	f.Lookup("jobs").NoOptDefVal = "0"
	f.FuncP("format_path", "F", "the `format` of the debugging information: dwarf", setFormat)
	f.String("hashbits", "", "`BITS`: accepted for compatibility, ignored")
	f.BoolVarP(&c.verbose, "verbose", "V", false,
		"print each phase, and the reason for each function that isn't encoded")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print no warnings")
	c.text(f, "numeric_version", "", "print the version of pahole to replace, such as 132",
		func() string { return fmt.Sprintln(int(c.version)) })
	c.text(f, "version", "", "print the same version in the form v1.32",
		func() string { return fmt.Sprintln(c.version) })
	c.text(f, "help", "?", "print this text", func() string { return helpText(f) })
	c.text(f, "usage", "", "print this text", func() string { return helpText(f) })
	return f
}

// text defines an option that makes the program print a text and do nothing else.
func (c *command) text(f *pflag.FlagSet, name, short, help string, text func() string) {
	f.BoolFuncP(name, short, help, func(string) error {
		c.show = text()
		return errShow
	})
}

// file returns a function that sets a path. That function returns an error for "", which results
// from an unset shell variable.
func file(path *string) func(string) error {
	return func(value string) error {
		if *path = value; value == "" {
			return errors.New("specify a file")
		}
		return nil
	}
}

// parseOptions reads a command line, with options and files in any order, and returns the files.
// Unlike in argp, names of options can't be abbreviated.
func (c *command) parseOptions(args []string) ([]string, error) {
	f := c.flags()
	words := make([]string, len(args))
	for i, word := range args { // an optional value is in the same word
		if value, ok := strings.CutPrefix(word, "-j"); ok && value != "" {
			word = "--jobs=" + value
		}
		words[i] = word
	}
	err := f.Parse(words)
	switch _, unknown := errors.AsType[*pflag.NotExistError](err); {
	case c.show != "":
		return nil, nil
	case err == nil:
		return f.Args(), nil
	case c.unsupported != nil: // pahole doesn't report this as wrong usage either
		return nil, c.unsupported
	case unknown:
		return nil, cli.Usagef("%v: this pahole only encodes BTF; %s", err, elsewhere)
	}
	return nil, cli.Usagef("%v", err)
}

// helpText is what --help prints. Makefiles look for "BTF" in it.
func helpText(f *pflag.FlagSet) string {
	return fmt.Sprintf(`pahole encodes BTF from the DWARF of ELF files. It replaces dwarves' pahole.

Usage:
  pahole -J [options] FILE...
  pahole -J --btf_encode_detached=OUT [options] FILE

It has the options of pahole 1.32 for encoding, and makes the same BTF as btfgen elf. Without a list
of features, the features var, decl_tag, type_tag and enum64 are on.

Options:
%s
Environment:
  %s  the version of pahole to report, such as 1.25
  %s       the default of --lang_exclude

Options that print types are errors: %s.
Exit codes: 0 for success, 1 for bad input, 2 for wrong usage.
`, f.FlagUsagesWrapped(100), versionVariable, excludeVariable, elsewhere)
}
