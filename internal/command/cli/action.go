package cli

import (
	"os"
	"strings"
)

// actionVariable is an environment variable that the rules set for their actions
// (rules/private/run.bzl). It affects only the advice in messages.
const actionVariable = "RULES_BTF_ACTION"

const settings = "--@rules_btf//rules/settings:"

// cc_btf lacks the attributes debug and alt: they name files that belong to prebuilt object files,
// but Bazel compiles the object files of cc_btf.
const (
	debugName = "the attribute debug (not in cc_btf, which reads the .dwo files of --fission, and " +
		"whose attribute exclude leaves out libraries)"
	altName = "the attribute alt (not in cc_btf, whose attribute exclude leaves out libraries)"
)

// inBazel lists the flags that messages recommend, each with its replacement in the Bazel rules.
// Flags with the same replacement are adjacent.
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
	{"--max-decompressed", "not available: decompress the file first"},
}

// advise extends a message if the process runs in an action of the Bazel rules: for each flag that
// the message recommends, advise appends what to set in Bazel instead.
func advise(message string) string {
	if os.Getenv(actionVariable) == "" {
		return message
	}
	var list []string
	for i := 0; i < len(inBazel); {
		name, flags := inBazel[i].name, []string(nil)
		for ; i < len(inBazel) && inBazel[i].name == name; i++ {
			if mentions(message, inBazel[i].flag) {
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

// mentions reports whether a message contains the flag itself, not just a longer flag.
func mentions(message, flag string) bool {
	_, after, ok := strings.Cut(message, flag)
	return ok && (after == "" || strings.ContainsAny(after[:1], "= ,;:)\n"))
}
