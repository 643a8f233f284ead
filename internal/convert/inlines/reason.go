package inlines

import (
	"bufio"
	"fmt"
	"io"

	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Reason is why the location of a parameter, or a site, isn't in the BTF.
type Reason uint8

// The reasons. Known means that there is none: the location or the site is in the BTF.
const (
	Known Reason = iota

	// for parameters
	NotListed       // the compiler wrote nothing about the parameter
	NoValue         // there is no value at the site's address
	EntryValue      // the value that a register had at the entry of the function around the site
	Computed        // the value must be computed
	Pieces          // the value is in several places
	ImplicitPointer // a pointer to something that isn't in memory
	FixedAddress    // in memory at a fixed address
	Unplaced        // an address in a module, which isn't known before the module is loaded
	NoFrame         // relative to a frame base that isn't known
	TooLarge        // larger than BTF can express
	NoSize          // the size of the type isn't known

	// for sites
	NoAddress        // no address is known
	NoCode           // there is no code at the address
	SameSection      // an earlier section has the section's name, or BTF can't have that name
	NoFunction       // the site doesn't say which function it is
	NoName           // the function has no name
	NotIdentifier    // the function's name is not an identifier
	UnnamedParameter // a parameter of the function has no name
	ManyParameters   // the function has so many parameters that no compiler wrote them

	numReasons
	firstOfSites = NoAddress
)

var reasons = [numReasons]string{
	NotListed:       "not in the debugging information",
	NoValue:         "no value at this address",
	EntryValue:      "only the value at the caller's entry",
	Computed:        "value must be computed",
	Pieces:          "in pieces",
	ImplicitPointer: "pointer to a value that is not in memory",
	FixedAddress:    "in memory at a fixed address",
	Unplaced:        "address in a module",
	NoFrame:         "relative to an unknown frame base",
	TooLarge:        "too large",
	NoSize:          "type without a size",

	NoAddress:        "no address",
	NoCode:           "no code at the address",
	SameSection:      "section's name is repeated or not valid",
	NoFunction:       "no function",
	NoName:           "function without a name",
	NotIdentifier:    "function's name is not an identifier",
	UnnamedParameter: "unnamed parameter",
	ManyParameters:   "too many parameters",
}

func (r Reason) String() string { return reasons[r] }

// OfSite reports whether the reason is one for which a site isn't in the BTF.
func (r Reason) OfSite() bool { return r >= firstOfSites }

// Lost counts parameters and sites by reason.
type Lost [numReasons]uint64

// Add adds the counts of other sites.
func (l *Lost) Add(o *Lost) {
	for i := range l {
		l[i] += o[i]
	}
}

// Reasons calls yield with each reason that isn't Known and that has a count.
func (l *Lost) Reasons(yield func(r Reason, count uint64) bool) {
	for r := Known + 1; r < numReasons; r++ {
		if l[r] > 0 && !yield(r, l[r]) {
			return
		}
	}
}

// Write writes a line for each reason: a number, what is counted, a tab, the reason.
func (l *Lost) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	for r, n := range l.Reasons {
		what := "parameter"
		if r.OfSite() {
			what = "site"
		}
		fmt.Fprintf(b, "%s\t%v\n", message.Count(n, what), r)
	}
	return b.Flush()
}
