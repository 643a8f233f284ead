package random

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/compare"
	"github.com/rules-btf/rules_btf/e2e/internal/content"
	"github.com/rules-btf/rules_btf/e2e/internal/harness"
	"github.com/rules-btf/rules_btf/e2e/internal/oracle"
)

// checkPahole checks that pahole's BTF of the program has the same definitions of each name. It
// ignores ambiguous tags, because each tool has its own rules for them.
func checkPahole(b *Build) error {
	v := b.view()
	theirs := b.temporary(".pahole.btf")
	harness.Check(run(b.Dir, "pahole", "-J", "-j1", "--btf_features="+oracle.Features,
		"--btf_encode_detached="+theirs, "linked"))
	ours := harness.Get(content.Load(b.path("elf.btf")))
	other := harness.Get(content.Load(b.path(theirs)))
	ambiguous := v.ambiguous()
	r := compare.Contents(ours, other)
	r.Explain(compare.Against(ours, v.skipped))
	r.Explain(func(d *compare.Difference) string {
		if b.Options.Collect && (len(d.Ours) == 0 || d.Class == content.Forward) {
			return "pahole also encodes the units that the linker has dropped"
		}
		theirs, want := withoutSizes(d.Oracle), withoutSizes(d.Ours)
		if slices.Equal(theirs, want) {
			return "pahole gives a type with a member of variable length the size 0"
		}
		if b.Options.Modern && slices.Equal(withoutSigns(theirs), withoutSigns(want)) {
			return "pahole encodes an enum with a signed type as unsigned if no value is negative"
		}
		if strings.Contains(fmt.Sprint(d.Ours), "*void") && b.Program.contains("(nullptr)") {
			return "pahole encodes the type of nullptr as void"
		}
		name := strings.TrimPrefix(strings.TrimPrefix(d.Name, "struct "), "union ")
		if ambiguous[name] || d.Class == content.Typedef && namesOne(ambiguous, d.Ours) {
			return "ambiguous"
		}
		return ""
	})
	left := r.Unexplained(append([]content.Class{content.Forward}, typeClasses...)...)
	var wrong []string
	for _, d := range left {
		wrong = append(wrong, fmt.Sprintf("%s %s: %s\n  ours   %s\n  pahole %s", d.Class, d.Name, d.Kind,
			strings.Join(d.Ours, "\n         "), strings.Join(d.Oracle, "\n         ")))
	}
	return list(wrong)
}

func namesOne(tags map[string]bool, texts []string) bool {
	return slices.ContainsFunc(strings.Fields(strings.Join(texts, " ")), func(word string) bool {
		return tags[strings.Trim(word, ",;)")]
	})
}

// withoutSizes returns texts from which it has removed the sizes of records that have a member of
// variable length.
func withoutSizes(texts []string) []string {
	var all []string
	for _, t := range texts {
		if strings.Contains(t, variableMember) {
			t = recordSize.ReplaceAllString(t, "")
		}
		all = append(all, t)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// withoutSigns returns texts in which it has made all enums unsigned.
func withoutSigns(texts []string) []string {
	var all []string
	for _, t := range texts {
		all = append(all, strings.ReplaceAll(t, "signed=true", "signed=false"))
	}
	return all
}

// variableMember is part of a record's text if the record has a member of variable length.
const variableMember = " varying@"

var recordSize = regexp.MustCompile(` size=\d+`)

// ambiguous returns the tags that have several definitions, and also a declaration in some unit.
func (v *view) ambiguous() map[string]bool {
	count, declared := map[string]int{}, map[string]bool{}
	for _, t := range v.types {
		if kind := definitionKind(t); kind != "" && kind != "typedef" {
			count[t.TypeName()]++
		}
	}
	for _, unit := range v.info.units {
		unit.walk(func(d *die) {
			if definitionTags[d.Tag] != "" && d.declaration() && count[d.name()] > 1 {
				declared[d.name()] = true
			}
		})
	}
	return declared
}
