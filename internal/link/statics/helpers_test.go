package statics

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/convert"
	"github.com/rules-btf/rules_btf/internal/convert/compilerbtf"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/link/compiledtest"
	"github.com/rules-btf/rules_btf/internal/model/facts"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/support/programtest"
)

// workspace is a directory with the files that a test makes.
type workspace struct{ compiledtest.Dir }

func newWorkspace(t *testing.T) workspace {
	return workspace{compiledtest.Dir{
		Dir: programtest.NewDir(t), Features: features.Default(),
		ToObject: func(f *elf.File, opt convert.Options) (*convert.Result, error) {
			if f.Section(".debug_info") == nil {
				return compilerbtf.File(f, opt)
			}
			return convert.File(f, opt)
		},
		ToFacts: func(f *elf.File, opt facts.Options) (*facts.Facts, error) {
			known, err := facts.Extract(f, opt)
			if err == nil {
				err = Identify(f, known, opt.Features, nil)
			}
			return known, err
		},
	}}
}

// skipped are the lines for variables in the --skipped list, except variables of functions, whose
// names are like state.0 or function.state.
func skipped(r compiledtest.Result) string {
	var lines []string
	for _, s := range r.Skipped {
		if s.Variable() && strings.Count(s.Name, ".") != 1 {
			lines = append(lines, fmt.Sprintf("%s: %s", s.Name, s.Reason))
		}
	}
	return strings.Join(lines, "\n")
}
