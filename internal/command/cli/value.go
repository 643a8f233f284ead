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

// choice is a flag with one of several words for a value.
type choice struct {
	value *string
	words []string
}

// ChoiceVar defines a flag that is one of several words, at first the one that p has.
func (f *FlagSet) ChoiceVar(p *string, name, usage string, words ...string) {
	f.Var(&choice{p, words}, name, usage)
}

// FormatVar defines the flag --format of the verbs that report.
func (f *FlagSet) FormatVar(p *string) {
	*p = "text"
	f.ChoiceVar(p, "format", "`text`, or json: one object", "text", "json")
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

func (c *choice) Choices() (words []string, list bool) { return c.words, false }

// noChoice is the error of a flag's value that is none of these words.
func noChoice(words []string) error {
	n := len(words) - 1
	if n == 1 {
		return fmt.Errorf("neither %s nor %s", words[0], words[1])
	}
	return fmt.Errorf("none of %s and %s", strings.Join(words[:n], ", "), words[n])
}

// number is a flag whose value is a number.
type number struct {
	value    *int
	min, max int
	what     string
}

// NumberVarP defines a flag that is a number from min to max, of what the message says. p has the
// default.
func (f *FlagSet) NumberVarP(p *int, name, short string, min, max int, what, usage string) {
	f.VarP(&number{p, min, max, what}, name, short, usage)
}

// MaxDecompressedVar defines the flag --max-decompressed, of verbs that read compressed data.
func (f *FlagSet) MaxDecompressedVar(p *int) {
	f.NumberVarP(p, "max-decompressed", "", 1, math.MaxInt, "bytes",
		"the largest size of decompressed data, in `bytes`; the default is 32 times the size of the"+
			" file, and more for small files")
}

func (n *number) Set(s string) error {
	i, err := strconv.Atoi(s)
	if err != nil || i < n.min || i > n.max {
		if n.max == math.MaxInt {
			return fmt.Errorf("not a number of %s, %d or more", n.what, n.min)
		}
		return fmt.Errorf("not a number of %s from %d to %d", n.what, n.min, n.max)
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

// featureList is a list of features on the command line.
type featureList features.Set

func (l *featureList) Set(s string) error {
	set, err := features.Parse(s)
	*l = featureList(set)
	if inner := errors.Unwrap(err); inner != nil {
		return inner // without the list, which the message has anyway
	}
	return err
}

func (*featureList) Choices() (words []string, list bool) {
	return append(strings.Split(features.All().String(), ","), features.Merging, "default", "all",
		"none"), true
}

func (l *featureList) String() string { return features.Set(*l).String() }

func (*featureList) Type() string { return "string" } // its default is shown in quotes
