package main

import (
	"fmt"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// command is what a command line asks for.
type command struct {
	version  version
	features choice
	files    []string

	inPlace  bool   // -J
	detached string // --btf_encode_detached; "" if it isn't given, like the next
	base     string // --btf_base
	exclude  string // --lang_exclude
	prefix   string // --kabi_prefix
	jobs     int    // 0: one a processor

	verbose, quiet bool

	show    string   // a text to print in place of all else
	ignored []string // features that are unknown, as lines for -V
}

// excludeVariable is the environment variable that stands for --lang_exclude where that is not
// given (languages__init in pahole's dwarves.c).
const excludeVariable = "PAHOLE_LANG_EXCLUDE"

// newCommand is a command line without arguments, in an environment that says for which version of
// pahole this one stands.
func newCommand(place, exclude string) (*command, error) {
	c := &command{exclude: exclude}
	var err error
	if c.version, err = parseVersion(place); err != nil {
		return nil, err
	}
	c.features = c.version.features()
	return c, nil
}

// parse reads a command line.
func (c *command) parse(args []string) error {
	files, err := parseOptions(args, func(o *option, value string) (done bool, err error) {
		if o.set == nil {
			return false, o.refusal()
		}
		err = o.set(c, value)
		return c.show != "", err
	})
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
		return cli.Usagef("-J or --btf_encode_detached=FILE is missing: this pahole encodes BTF and "+
			"does nothing else; %s", elsewhere)
	case len(c.files) == 0:
		return cli.Usagef("no file to encode the BTF of is given")
	case len(c.files) > 1 && c.detached != "":
		return cli.Usagef("--btf_encode_detached=%s is for one file, and %d are given", c.detached,
			len(c.files))
	}
	return nil
}

// setJobs takes the value of -j. What is no number of threads means one a processor, as no value
// does.
func (c *command) setJobs(value string) error {
	const most = 1024
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		n = 0
	}
	c.jobs = min(n, most)
	return nil
}

// setFormat takes the value of -F: BTF is encoded of DWARF.
func (c *command) setFormat(value string) error {
	if value != "dwarf" {
		return cli.Usagef("--format_path=%s: BTF is encoded of DWARF only", value)
	}
	return nil
}

// addFeatures takes the value of --btf_features or --btf_features_strict.
func (c *command) addFeatures(list string, strict bool) error {
	unknown := c.features.add(list)
	if len(unknown) > 0 && strict {
		return fmt.Errorf("--btf_features_strict=%s: unknown feature %q; supported are %s", list,
			unknown[0], supported())
	}
	for _, name := range unknown {
		c.ignored = append(c.ignored, fmt.Sprintf("Ignoring unsupported feature '%s'", name))
	}
	return nil
}
