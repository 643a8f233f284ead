package main

import (
	"path"
	"strings"
)

// group is a group of code, by its purpose.
type group int

const (
	reading group = iota
	abbreviations
	walking
	fingerprints
	newTypes
	functions
	symbolFacts
	linking
	collecting
	others
)

// groups has the names of the groups, in the order of the table.
var groups = [...]string{
	reading:       "reading the file",
	abbreviations: "abbreviation tables",
	walking:       "walking entries, looking up known types",
	fingerprints:  "fingerprints of types: what tells a repeated type from a new one",
	newTypes:      "types that are new: understood, hashed, built",
	functions:     "functions: prototypes, locations of parameters",
	symbolFacts:   "facts: symbols, on a thread of their own",
	linking:       "link: conflicts, decisions, order, writing",
	collecting:    "garbage collection",
	others:        "the rest: scheduler, runtime",
}

// frame is a function on a stack, and its source file.
type frame struct{ function, file string }

const module = "github.com/rules-btf/rules_btf/internal/"

// inPackage reports whether the function is in a package below internal, or in a package of that.
func (f frame) inPackage(name string) bool {
	rest, ok := strings.CutPrefix(f.function, module+name)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/"))
}

// whole has the groups that also count what their functions call.
var whole = []struct {
	group   group
	matches func(frame) bool
}{
	{collecting, func(f frame) bool {
		switch f.function {
		case "runtime.gcBgMarkWorker", "runtime.gcAssistAlloc", "runtime.bgsweep",
			"runtime.bgscavenge", "runtime.gcStart", "runtime.gcMarkDone":
			return true
		}
		return false
	}},
	{symbolFacts, func(f frame) bool { return f.inPackage("facts") }},
	{linking, func(f frame) bool {
		return f.inPackage("link") || f.inPackage("btf") || f.inPackage("verify")
	}},
	{reading, func(f frame) bool { return f.inPackage("elf") }},
	{abbreviations, func(f frame) bool {
		return f.inPackage("dwarf") && path.Base(f.file) == "abbrev.go" &&
			!strings.HasSuffix(f.function, ".lookup")
	}},
}

// files has the groups of source files. The innermost frame whose file has a group decides.
var files = map[string]group{
	"format/dwarf/fingerprint.go": fingerprints,
	"format/dwarf/fastprint.go":   fingerprints,
	"format/dwarf/printtable.go":  fingerprints,

	"convert/annotations.go": newTypes,
	"convert/node.go":        newTypes,
	"convert/describe.go":    newTypes,
	"convert/enums.go":       newTypes,
	"convert/members.go":     newTypes,
	"convert/names.go":       newTypes,
	"convert/pins.go":        newTypes,
	"convert/size.go":        newTypes,

	"convert/function.go":      functions,
	"convert/parameters.go":    functions,
	"convert/symbols.go":       functions,
	"convert/truesignature.go": functions,
	"format/dwarf/function.go": functions,
	"format/dwarf/location.go": functions,
	"format/dwarf/parts.go":    functions,
}

// packages has the groups of the other source files, by package.
var packages = []struct {
	name  string
	group group
}{
	{"types", newTypes},
	{"params", functions},
	{"dwarf", walking},
	{"convert", walking},
}

// groupOf returns the group of a sample by its stack, callees first.
func groupOf(stack []frame) group {
	for _, w := range whole {
		for _, f := range stack {
			if w.matches(f) {
				return w.group
			}
		}
	}
	for _, f := range stack {
		for _, p := range packages {
			if !f.inPackage(p.name) {
				continue
			}
			if g, ok := files[p.name+"/"+path.Base(f.file)]; ok {
				return g
			}
			return p.group
		}
	}
	return others
}
