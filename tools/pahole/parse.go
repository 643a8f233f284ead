package main

import (
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// parseOptions reads a command line as glibc's getopt_long does for argp: options and files in any
// order, --name=value and --name value, the beginning of a long name if no other one begins so,
// short options in one word, and -- before what are files only. It calls take for each option until
// take is done, and returns the files.
func parseOptions(args []string, take func(*option, string) (done bool, err error)) ([]string,
	error) {
	p := &parser{options: options(), take: take, args: args}
	for len(p.args) > 0 && !p.done {
		word := p.args[0]
		p.args = p.args[1:]
		var err error
		switch {
		case word == "--":
			return append(p.files, p.args...), nil
		case strings.HasPrefix(word, "--"):
			err = p.long(word[2:])
		case len(word) > 1 && word[0] == '-':
			err = p.shorts(word[1:])
		default:
			p.files = append(p.files, word)
		}
		if err != nil {
			return nil, err
		}
	}
	return p.files, nil
}

// parser is a command line that is being read.
type parser struct {
	options []option
	take    func(*option, string) (done bool, err error)
	args    []string // not yet read
	files   []string
	done    bool
}

// long reads a long option, without its dashes.
func (p *parser) long(word string) (err error) {
	name, value, given := strings.Cut(word, "=")
	o, err := p.find(name)
	switch {
	case err != nil:
		return err
	case given && o.takes == noValue:
		return cli.Usagef("option '--%s' doesn't allow an argument", o.name)
	case !given && o.takes == needsValue:
		if len(p.args) == 0 {
			return cli.Usagef("option '--%s' requires an argument", o.name)
		}
		value, p.args = p.args[0], p.args[1:]
	}
	p.done, err = p.take(o, value)
	return err
}

// find returns the option whose name is name, or else the one whose name begins so.
func (p *parser) find(name string) (*option, error) {
	var found []*option
	for i := range p.options {
		o := &p.options[i]
		if o.name == name {
			return o, nil
		}
		if strings.HasPrefix(o.name, name) {
			found = append(found, o)
		}
	}
	switch len(found) {
	case 0:
		return nil, cli.Usagef("unrecognized option '--%s'%s", name, p.didYouMean(name))
	case 1:
		return found[0], nil
	}
	var names strings.Builder
	for _, o := range found {
		names.WriteString(" '--" + o.name + "'")
	}
	return nil, cli.Usagef("option '--%s' is ambiguous; possibilities:%s", name, names.String())
}

// didYouMean is a hint at the option that may have been meant, with _ for -.
func (p *parser) didYouMean(name string) string {
	name = strings.ReplaceAll(name, "-", "_")
	if slices.ContainsFunc(p.options, func(o option) bool { return o.name == name }) {
		return "; did you mean --" + name + "?"
	}
	return ""
}

// shorts reads short options in one word, without the dash. The value of one is the rest of the
// word, or the next word if there is no rest and it can't do without.
func (p *parser) shorts(word string) (err error) {
	for i := 0; i < len(word) && !p.done; i++ {
		at := slices.IndexFunc(p.options, func(o option) bool { return o.short == word[i] })
		if at < 0 || word[i] == 0 {
			return cli.Usagef("invalid option -- '%c'", word[i])
		}
		o, value := &p.options[at], ""
		if o.takes != noValue {
			value, i = word[i+1:], len(word)
		}
		if value == "" && o.takes == needsValue {
			if len(p.args) == 0 {
				return cli.Usagef("option requires an argument -- '%c'", o.short)
			}
			value, p.args = p.args[0], p.args[1:]
		}
		if p.done, err = p.take(o, value); err != nil {
			return err
		}
	}
	return nil
}
