package cli

import (
	"os"
	"strings"
)

// actionVariable is in the environment of the actions of the Bazel rules (rules/private/run.bzl).
// It changes only what messages advise.
const actionVariable = "RULES_BTF_ACTION"

const settings = "--@rules_btf//rules/settings:"

// What cc_btf has in place of debug and alt, which name files beside object files that one knows.
const (
	debugName = "the attribute debug (cc_btf has none: it takes the .dwo files of --fission, and " +
		"leaves out the libraries that exclude names)"
	altName = "the attribute alt (cc_btf has none: it leaves out the libraries that exclude names)"
)

// inBazel are flags that messages name, and what a user of the rules sets in place of them. Those
// with the same are one after the other.
var inBazel = []struct{ flag, name string }{
	{"--lang-exclude", "the attribute lang_exclude or the flag " + settings + "lang_exclude"},
	{"--skip-unencodable", "the attribute skip_unencodable"},
	{"--features", "the attribute btf_features or the flag " + settings + "btf_features"},
	{"--input", "the attribute input or the flag " + settings + "input"},
	{"--strict", "the attribute strict"},
	{"--dwarf", debugName},
	{"--dwo-dir", debugName},
	{"--dwp", debugName},
	{"--follow", debugName},
	{"--alt", altName},
	{"--base", "the attribute base"},
	{"--old-base", "the attribute old_base"},
	{"--drop-signature", "the attribute drop_signature"},
	{"--resolve-ids", "the attribute resolve_ids"},
	{"--max-decompressed", "no attribute: decompress the file first"},
}

// advise adds to a message, in an action of Bazel, what the flags that it names are to the rules.
func advise(message string) string {
	if os.Getenv(actionVariable) == "" {
		return message
	}
	var list []string
	for i := 0; i < len(inBazel); {
		name, flags := inBazel[i].name, []string(nil)
		for ; i < len(inBazel) && inBazel[i].name == name; i++ {
			if names(message, inBazel[i].flag) {
				flags = append(flags, inBazel[i].flag)
			}
		}
		switch len(flags) {
		case 0:
		case 1:
			list = append(list, flags[0]+" is "+name)
		default:
			list = append(list, strings.Join(flags, " and ")+" are "+name)
		}
	}
	if len(list) == 0 {
		return message
	}
	return strings.TrimSpace(message) + "; in Bazel, " + strings.Join(list, ", ")
}

// names reports whether a message names a flag, and not one that begins so.
func names(message, flag string) bool {
	_, after, ok := strings.Cut(message, flag)
	return ok && (after == "" || strings.ContainsAny(after[:1], "= ,;:)\n"))
}
