package cli

import (
	"os"
	"strings"
)

// actionVariable is an environment variable that the rules set for their actions
// (rules/private/run.bzl). It affects only the advice in messages.
const actionVariable = "RULES_BTF_ACTION"

const settings = "--@rules_btf//rules/settings:"

// cc_btf lacks the attribute debug: it names files that belong to prebuilt object files, but Bazel
// compiles the object files of cc_btf.
const debugName = "the attribute debug (not in cc_btf, which reads the .dwo files of --fission, " +
	"and whose attribute exclude leaves out libraries)"

// replacement says what to set where a flag that messages recommend can't be set.
type replacement struct{ flag, name string }

// inBazel lists the flags that messages recommend, each with its replacement in the Bazel rules.
// Flags with the same replacement are adjacent.
var inBazel = []replacement{
	{"--lang-exclude", "the attribute lang_exclude or the flag " + settings + "lang_exclude"},
	{"--features", "the attribute btf_features or the flag " + settings + "btf_features"},
	{"--input", "the attribute input or the flag " + settings + "input"},
	{"--strict", "the attribute strict"},
	{"--debug-file", debugName},
	{"--base", "the attribute base"},
	{"--old-base", "the attribute old_base"},
	{"--drop-signature", "the attribute drop_signature"},
	{"--resolve-ids", "the attribute resolve_ids"},
	{"--max-decompressed", "not available: decompress the file first"},
}

// paholeProgram is the name of the program that replaces pahole. It has pahole's flags, and Kbuild
// passes them: scripts/Makefile.btf sets PAHOLE_FLAGS (before Linux 6.9, scripts/pahole-flags.sh),
// and a variable on the command line of make replaces that value.
const (
	paholeProgram = "pahole"
	paholeFlags   = " (in a kernel's build: make PAHOLE_FLAGS=\"…\", with all flags of make V=1)"
	onlyBtfgen    = "not available: run btfgen"
)

// inPahole is inBazel for paholeProgram.
var inPahole = []replacement{
	{"--lang-exclude", "--lang_exclude=rust,…" + paholeFlags},
	{"--input", onlyBtfgen},
	{"--strict", onlyBtfgen},
	{"--debug-file", onlyBtfgen},
	{"--features", "--btf_features" + paholeFlags},
	{"--base", "--btf_base"},
}

// advise extends a message if the user can't set the flags of btfgen and btfdedup: in an action of
// the Bazel rules, and in paholeProgram. For each flag that the message recommends, advise appends
// what to set instead.
func advise(program, message string) string {
	place, replacements := "", []replacement(nil)
	switch {
	case program == paholeProgram:
		place, replacements = "this pahole", inPahole
	case os.Getenv(actionVariable) != "":
		place, replacements = "Bazel", inBazel
	}
	var list []string
	for i := 0; i < len(replacements); {
		name, flags := replacements[i].name, []string(nil)
		for ; i < len(replacements) && replacements[i].name == name; i++ {
			if mentions(message, replacements[i].flag) {
				flags = append(flags, replacements[i].flag)
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
	return strings.TrimSpace(message) + "; in " + place + ", " + strings.Join(list, ", ")
}

// mentions reports whether a message contains the flag itself, not just a longer flag.
func mentions(message, flag string) bool {
	_, after, ok := strings.Cut(message, flag)
	return ok && (after == "" || strings.ContainsAny(after[:1], "= ,;:)\n"))
}
