package main

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// choice is the features that a command line chooses. Until the first list of --btf_features they
// are those of pahole's older options: on unless their own option turns them off, or the
// other way round. The first list begins with none, and all lists are added up. An older option
// that comes after a list counts too (init_btf_features and pahole__options_parser in pahole.c).
type choice struct {
	features.Set
	listed bool
}

// add adds a list of --btf_features, and returns the names that are unknown (parse_btf_features in
// pahole.c): a "+" before the list adds the default set first, and so does "default" as a name.
// "all" is every feature but distilled_base.
func (c *choice) add(list string) (unknown []string) {
	if !c.listed {
		c.listed, c.Set = true, 0
	}
	list, more := strings.CutPrefix(list, "+")
	if more {
		c.addDefault()
	}
	for name := range strings.SplitSeq(list, ",") {
		switch name {
		case "", features.Merging:
		case "default":
			c.addDefault()
		case "all":
			c.Set |= features.PaholeAll()
		default:
			if f, ok := features.Named(name); ok {
				c.Set = c.With(f)
			} else {
				unknown = append(unknown, name)
			}
		}
	}
	return unknown
}

func (c *choice) addDefault() { c.Set |= features.Default() }

// on and off turn on and off a feature by its own option.
func on(f features.Set) func(*command, string) error {
	return func(c *command, _ string) error {
		c.features.Set = c.features.With(f)
		return nil
	}
}

func off(f features.Set) func(*command, string) error {
	return func(c *command, _ string) error {
		c.features.Set = c.features.Without(f)
		return nil
	}
}

// supported is what --supported_btf_features prints.
func supported() string { return features.All().String() + "," + features.Merging }
