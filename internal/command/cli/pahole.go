package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// Users of pahole know its options. Those that are flags here under another name are accepted; for
// those that are features here the message says which.

// paholeFlags are pahole's names for common flags.
var paholeFlags = [...]struct{ pahole, here string }{
	{"btf-features", "features"}, {"btf-base", "base"}}

// paholeNames adds pahole's names for flags, unless the command has flags of these names.
func (f *FlagSet) paholeNames() {
	for _, name := range paholeFlags {
		if flag := f.Lookup(name.here); flag != nil && f.Lookup(name.pahole) == nil {
			alias := *flag
			alias.Name, alias.Hidden = name.pahole, true
			f.AddFlag(&alias)
		}
	}
}

// paholeFeatures are pahole's options that are a choice of features.
var paholeFeatures = map[string]string{
	"skip-encoding-btf-vars":               "--features=-var",
	"skip-encoding-btf-decl-tag":           "--features=-decl_tag",
	"skip-encoding-btf-type-tag":           "--features=-type_tag",
	"skip-encoding-btf-enum64":             "--features=-enum64",
	"skip-encoding-btf-inconsistent-proto": "--features=+consistent_func",
	"btf-encode-force":                     "--features=+encode_force",
	"btf-gen-floats":                       "--features=+float",
	"btf-gen-optimized":                    "--features=+optimized_func",
	"btf-gen-all":                          "--features=default",
	"btf-features-strict":                  "--features",
	"reproducible-build":                   "--features=+reproducible_build",
}

// paholeHint says what stands for an option of pahole's that is no flag; "" if nothing does.
func paholeHint(flags *pflag.FlagSet, name string) string {
	name = strings.ReplaceAll(name, "_", "-")
	if flag, ok := paholeFeatures[name]; ok && flags.Lookup("features") != nil {
		return " of pahole; here it is " + flag
	}
	if name == "btf-encode-detached" && flags.ShorthandLookup("o") != nil {
		return " of pahole; here it is -o"
	}
	return ""
}
