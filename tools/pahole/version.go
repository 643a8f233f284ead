package main

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/rules-btf/rules_btf/internal/command/cli"
	"github.com/rules-btf/rules_btf/internal/model/features"
)

// versionVariable is the environment variable that says for which version of pahole this one
// stands, such as 1.25. Scripts choose their options by it.
const versionVariable = "RULES_BTF_PAHOLE_VERSION"

// version is a version of pahole as --numeric_version prints it: 132 is v1.32.
type version int

// current is the version whose options and encoding these are.
const current version = 132

var versionText = regexp.MustCompile(`^v?([1-9])\.?([0-9]{2})$`)

// parseVersion reads 1.25, v1.25 or 125; without a text it is the current version.
func parseVersion(text string) (version, error) {
	if text == "" {
		return current, nil
	}
	m := versionText.FindStringSubmatch(text)
	if m == nil {
		return 0, cli.Usagef("%s=%s: no version of pahole, such as 1.25", versionVariable, text)
	}
	n, err := strconv.Atoi(m[1] + m[2])
	return version(n), err
}

// String is the version as --version prints it.
func (v version) String() string { return fmt.Sprintf("v%d.%02d", v/100, v%100) }

// features are those that are encoded where no option says anything: kinds of types that this
// version didn't know are left out, so that old kernels, which can't read them, get none.
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
