package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// versionVariable is the environment variable with the version of pahole that this program
// replaces, such as 1.25. Scripts choose their options by this version.
const versionVariable = "RULES_BTF_PAHOLE_VERSION"

// version is a version of pahole in the form that --numeric_version prints: 132 is v1.32.
type version int

// current is the version whose options and encoding this program implements.
const current version = 132

var versionText = regexp.MustCompile(`^v?([1-9])\.?([0-9]{2})$`)

// parseVersion reads 1.25, v1.25 or 125; an empty text means the current version.
// Rule: pahole: version that is reported, and its features. Source: pahole pahole.c.
func parseVersion(text string) (version, error) {
	if text == "" {
		return current, nil
	}
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, cli.Usagef("%s=%s: expected a version of pahole, such as 1.25", versionVariable, text)
	}
	n, err := strconv.Atoi(m[1] + m[2])
	return version(n), err
}

// String returns the version in the form that --version prints.
func (v version) String() string { return fmt.Sprintf("v%d.%02d", v/100, v%100) }

// features returns the features that are on without any option. Kinds of types that version v
// doesn't have are left out, because old kernels can't read them.
func (v version) features() choice {
	var c choice
	for _, f := range []struct {
		feature features.Set
		since   version
	}{
		{features.Var, 118}, {features.DeclTag, 123}, {features.TypeTag, 123}, {features.Enum64, 124},
	} {
		if v >= f.since {
			c.Set = c.With(f.feature)
		}
	}
	return c
}
