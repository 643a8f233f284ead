package main

import (
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// choice is the set of features of a command line. Before the first list of --btf_features, the
// features depend on pahole's older options: some features are on unless an option turns them off,
// and others are off unless an option turns them on. The first list replaces all these features;
// further lists add features. Older options that come after a list still have an effect
// (init_btf_features and pahole__options_parser in pahole.c).
// Rule: pahole: features that older options select. Source: pahole pahole.c init_btf_features,
// parse_btf_features.
type choice struct {
	features.Set
	listed bool
}

// add adds the features that a value of --btf_features lists, and returns unknown names
// (parse_btf_features in pahole.c). If the list begins with "+" or contains the name "default", add
// first adds the default set. "all" means every feature except distilled_base.
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

// supported is what --supported_btf_features prints.
func supported() string {
	return features.All().Without(features.SkipUnencodable).String() + "," + features.Merging
}
