package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// Users of pahole know its options. Those that are flags here under another name are accepted; for
// those that are features here the message says which.

// paholeNames are pahole's names for common flags, with - for _, and who takes them.
var paholeNames = map[string]struct {
	flag  string
	taken Common
}{
	"btf-features": {"features", Features},
	"btf-base":     {"base", Base},
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

// normal is a flag's name as the verb defines it: _ is the same as -, and pahole's names stand for
// those here, unless the verb has a flag of that name. all says whether all flags are defined.
func (v *Verb) normal(fs *pflag.FlagSet, name string, all bool) string {
	name = strings.ReplaceAll(name, "_", "-")
	if !all {
		return name
	}
	alias, ok := paholeNames[name]
	if !ok || v.Flags&alias.taken == 0 {
		return name
	}
	own := false
	fs.VisitAll(func(f *pflag.Flag) { own = own || f.Name == name })
	if own {
		return name
	}
	return alias.flag
}

// paholeHint says what stands for an option of pahole's; "" if nothing does.
func (v *Verb) paholeHint(name string) string {
	name = strings.ReplaceAll(name, "_", "-")
	if flag, ok := paholeFeatures[name]; ok && v.Flags&Features != 0 {
		return " of pahole; here it is " + flag
	}
	if name == "btf-encode-detached" && v.Flags&Output != 0 {
		return " of pahole; here it is -o"
	}
	return ""
}
