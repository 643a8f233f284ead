package cli

import (
	"os"
	"strings"
)

// actionVariable is in the environment of the actions of the Bazel rules (rules/private/run.bzl).
// It changes nothing but what messages advise.
const actionVariable = "RULES_BTF_ACTION"

const settings = "--@rules_btf//rules/settings:"

// inBazel are flags that messages name, and what a user of the rules sets in place of them.
var inBazel = []struct{ flag, name string }{
	{"--lang-exclude", "the attribute lang_exclude or the flag " + settings + "lang_exclude"},
	{"--skip-unencodable", "the attribute skip_unencodable"},
	{"--features", "the attribute btf_features or the flag " + settings + "btf_features"},
	{"--input", "the attribute input or the flag " + settings + "input"},
	{"--strict", "the attribute strict"},
	{"--dwarf", "the attribute debug"},
	{"--dwp", "the attribute debug"},
	{"--alt", "the attribute alt"},
	{"--base", "the attribute base"},
	{"--old-base", "the attribute old_base"},
	{"--drop-signature", "the attribute drop_signature"},
	{"--resolve-ids", "the attribute resolve_ids"},
}

// advise adds to a message, in an action of Bazel, what the flags that it names are to the rules.
func advise(message string) string {
	if os.Getenv(actionVariable) == "" {
		return message
	}
	var list []string
	for _, f := range inBazel {
		if _, after, ok := strings.Cut(message, f.flag); ok &&
			(after == "" || strings.ContainsAny(after[:1], "= ,;:)\n")) {
			list = append(list, f.flag+" is "+f.name)
		}
	}
	if len(list) == 0 {
		return message
	}
	return strings.TrimSpace(message) + "; in Bazel, " + strings.Join(list, ", ")
}
