package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

type command struct {
	version  version
	features choice
	files    []string

	inPlace  bool   // -J
	detached string // --btf_encode_detached; "" if it isn't given, like base
	base     string // --btf_base
	exclude  string // --lang_exclude
	prefix   string // --kabi_prefix
	jobs     int    // 0: one per processor

	verbose, quiet bool

	show        string   // a text to print instead of encoding
	unsupported error    // the error of --btf_features_strict, if it has an unknown feature
	ignored     []string // features that are unknown, as lines for -V
}

// excludeVariable is the environment variable with the default of --lang_exclude (languages__init
// in pahole's dwarves.c).
const excludeVariable = "PAHOLE_LANG_EXCLUDE"

// newCommand returns a command line without arguments. The parameters come from the environment:
// the version of pahole that this program replaces, and the default of --lang_exclude.
func newCommand(replaced, exclude string) (*command, error) {
	c := &command{exclude: exclude}
	var err error
	if c.version, err = parseVersion(replaced); err != nil {
		return nil, err
	}
	c.features = c.version.features()
	return c, nil
}

func (c *command) parse(args []string) error {
	files, err := c.parseOptions(args)
	if err != nil {
		return err
	}
	c.files = files
	if !c.verbose {
		c.ignored = nil
	}
	return c.check()
}

func (c *command) check() error {
	switch {
	case c.show != "":
	case !c.inPlace && c.detached == "":
		return cli.Usagef("-J or --btf_encode_detached=FILE is missing: this pahole only encodes "+
			"BTF; %s", elsewhere)
	case len(c.files) == 0:
		return cli.Usagef("FILE is missing: specify an ELF file with DWARF")
	case len(c.files) > 1 && c.detached != "":
		return cli.Usagef("--btf_encode_detached=%s is for one file, but %d are given", c.detached,
			len(c.files))
	}
	return nil
}

// setJobs sets -j. No value, or one that isn't a number, means one thread per processor.
func (c *command) setJobs(value string) error {
	const most = 1024
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		n = 0
	}
	c.jobs = min(n, most)
	return nil
}

// setFormat checks the value of -F.
func setFormat(value string) error {
	if value != "dwarf" {
		return errors.New("BTF is encoded from DWARF only")
	}
	return nil
}

// addFeatures adds the features in the value of --btf_features or --btf_features_strict.
func (c *command) addFeatures(list string, strict bool) error {
	unknown := c.features.add(list)
	if len(unknown) > 0 && strict {
		c.unsupported = fmt.Errorf("--btf_features_strict=%s: unknown feature %q; the features are %s",
			list, unknown[0], supported())
		return c.unsupported
	}
	for _, name := range unknown {
		c.ignored = append(c.ignored, fmt.Sprintf("Ignoring unsupported feature '%s'", name))
	}
	return nil
}
