package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rules-btf/rules_btf/internal/model/features"
)

// choice is a flag whose value is one of several words.
type choice struct {
	value *string
	words []string
}

// ChoiceVar defines a flag whose value is one of several words. *p holds the default.
func (f *FlagSet) ChoiceVar(p *string, name, usage string, words ...string) {
	f.Var(&choice{p, words}, name, usage)
}

// FormatVar defines the flag --format, for verbs that print a report.
func (f *FlagSet) FormatVar(p *string) {
	*p = "text"
	f.ChoiceVar(p, "format", "the output `format`: text, or json for one JSON object", "text", "json")
}

func (c *choice) Set(s string) error {
	if !slices.Contains(c.words, s) {
		return noChoice(c.words)
	}
	*c.value = s
	return nil
}

func (c *choice) String() string { return *c.value }

func (*choice) Type() string { return "string" } // its default is shown in quotes

func noChoice(words []string) error {
	n := len(words) - 1
	return fmt.Errorf("must be %s or %s", strings.Join(words[:n], ", "), words[n])
}

type number struct {
	value    *int
	min, max int
	noun     string
}

// NumberVarP defines a flag whose value is a number from min to max. The parameter noun is what the
// number counts, such as "threads", for error messages. The variable at p holds the default.
func (f *FlagSet) NumberVarP(p *int, name, short string, min, max int, noun, usage string) {
	f.VarP(&number{p, min, max, noun}, name, short, usage)
}

const raiseFlag = "max-decompressed"

// MaxDecompressedVar defines the flag --max-decompressed for verbs that read compressed data.
func (f *FlagSet) MaxDecompressedVar(p *int) {
	f.NumberVarP(p, raiseFlag, "", 1, math.MaxInt, "bytes",
		"allow decompressed data of up to this size, in `bytes`; 32 times the size of the file, or"+
			" more for small files, is always allowed")
}

func (n *number) Set(s string) error {
	i, err := strconv.Atoi(s)
	if err != nil || i < n.min || i > n.max {
		if n.max == math.MaxInt {
			return fmt.Errorf("must be a number of %s, at least %d", n.noun, n.min)
		}
		return fmt.Errorf("must be a number of %s, from %d to %d", n.noun, n.min, n.max)
	}
	*n.value = i
	return nil
}

func (n *number) String() string {
	if *n.value == 0 {
		return "" // no default
	}
	return strconv.Itoa(*n.value)
}

func (*number) Type() string { return "int" }

type featureList features.Set

func (l *featureList) Set(s string) error {
	set, err := features.Parse(s)
	*l = featureList(set)
	if inner := errors.Unwrap(err); inner != nil {
		return inner // pflag's message already quotes the list
	}
	return err
}

func (l *featureList) String() string { return features.Set(*l).String() }

func (*featureList) Type() string { return "string" } // its default is shown in quotes
