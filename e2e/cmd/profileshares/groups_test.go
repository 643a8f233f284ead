package main

import (
	"os"
	"testing"

	"github.com/google/pprof/profile"
)

func in(pkg, function, file string) frame {
	return frame{module + pkg + "." + function, "/src/internal/" + pkg + "/" + file}
}

func TestGroupOf(t *testing.T) {
	worker := frame{"runtime.goexit", "runtime/asm.s"}
	convert := in("convert", "(*unit).visitType", "unit.go")
	for _, c := range []struct {
		name  string
		stack []frame
		want  group
	}{
		{"a fingerprint's lookup of a name", []frame{{"runtime.memmove", "memmove.s"},
			in("dwarf", "(*printTable).at", "printtable.go"), convert, worker}, fingerprints},
		{"a load of a walk", []frame{in("dwarf", "(*Reader).Read", "reader.go"), convert, worker},
			walking},
		{"a walk itself", []frame{convert, worker}, walking},
		{"hashing for a new type", []frame{in("types", "(*Graph).AddHashed", "graph.go"),
			in("convert", "(*unit).nodeOf", "node.go"), convert}, newTypes},
		{"hashing for the link", []frame{in("types", "(*Graph).AddHashed", "graph.go"),
			in("link", "Link", "link.go")}, linking},
		{"pread", []frame{{"syscall.Pread", "syscall.go"}, in("elf", "(*Section).ReadAt", "section.go"),
			in("dwarf", "(*Reader).Load", "reader.go"), convert}, reading},
		{"symbols for facts", []frame{in("elf", "(*File).Symbols", "symbols.go"),
			in("facts", "Extract", "extract.go")}, symbolFacts},
		{"compiling an abbreviation", []frame{in("dwarf", "makePlan", "plan.go"),
			in("dwarf", "(*abbrevTable).build", "abbrev.go"), convert}, abbreviations},
		{"finding an abbreviation", []frame{in("dwarf", "(*abbrevTable).lookup", "abbrev.go"),
			in("dwarf", "(*Prints).Type", "fingerprint.go"), convert}, walking},
		{"a collector's help", []frame{{"runtime.scanObject", "mgcmark.go"},
			{"runtime.gcAssistAlloc", "mgcmark.go"}, convert}, collecting},
		{"an idle processor", []frame{{"runtime.findRunnable", "proc.go"}}, others},
	} {
		if got := groupOf(c.stack); got != c.want {
			t.Errorf("%s counts as %q, want %q", c.name, groups[got], groups[c.want])
		}
	}
}

// TestFilesExist fails if a file or package that has a group is renamed.
func TestFilesExist(t *testing.T) {
	if _, err := os.Stat("../../../internal"); err != nil {
		t.Skip("the sources aren't here: ", err)
	}
	for name := range files {
		if _, err := os.Stat("../../../internal/" + name); err != nil {
			t.Error(err)
		}
	}
	for _, p := range packages {
		if _, err := os.Stat("../../../internal/" + p.name); err != nil {
			t.Error(err)
		}
	}
}

func TestSum(t *testing.T) {
	function := func(f frame) *profile.Location {
		return &profile.Location{Line: []profile.Line{{Function: &profile.Function{Name: f.function,
			Filename: f.file}}}}
	}
	p := &profile.Profile{Sample: []*profile.Sample{
		{Value: []int64{1, 30}, Location: []*profile.Location{function(in("link", "Link", "link.go"))}},
		{Value: []int64{1, 10},
			Location: []*profile.Location{function(in("params", "Judge", "params.go"))}},
		{Value: []int64{1, 5}, Location: []*profile.Location{function(in("link", "Link", "link.go"))}},
	}}
	times, all := sum(p)
	if times[linking] != 35 || times[functions] != 10 || all != 45 {
		t.Errorf("link %d, functions %d, all %d; want 35, 10, 45", times[linking], times[functions], all)
	}
}
