package convert

import (
	"fmt"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// losses are what the BTF of a file lacks although the conversion succeeds. The user gets one
// message for each kind of loss.
type losses struct {
	untyped []failure       // units without types and parameters, see dwarf.Reader.Untyped
	fake    map[string]bool // the base types that fakeInt replaces: name and size
}

// noteUntyped notes that the unit with this number has no types, if so.
func (c *converter) noteUntyped(number int) {
	root := &c.main.r.Root
	if !c.main.r.Untyped(c.current.clang, root.Has(dwarf.LowPC) || root.Has(dwarf.Ranges)) {
		return
	}
	file, _ := c.main.r.String(root, dwarf.Name)
	c.out.losses.untyped = append(c.out.losses.untyped, failure{number, c.main.r.Errorf(root.Off,
		"unit %s has functions, but no types and no parameters, as with -g1 or -gline-tables-only, so "+
			"all its functions look like void f(void), or are missing; compile with -g", file)})
}

// fakeInt is the name that pahole 1.32 gives to base types that BTF's INT can't express.
var fakeInt = []byte("__SANITIZED_FAKE_INT__")

// classFakeInt is the class of the name fakeInt, the only name that isn't in a section of the file.
const classFakeInt dwarf.Class = 0xff

// fakeInt describes the INT that represents the base type e, which INT can't express.
// Rule: base types that INT can't express.
func (u *unit) fakeInt(e *dwarf.DIE, encoding uint32, size uint64) (desc, error) {
	text, err := u.r.String(e, dwarf.Name)
	l := &u.c.out.losses
	if l.fake == nil {
		l.fake = map[string]bool{}
	}
	l.fake[fmt.Sprintf("%q of %s", text, message.Count(size, "byte"))] = true
	u.c.uncovered++ // so that each file with the type gets the message
	return desc{kind: types.KindInt, size: 4, aux: encoding<<24 | 32,
		name: name{hash: types.HashString(fakeInt), class: classFakeInt}}, err
}

// warnOfLosses passes the messages to warn.
func (w *work) warnOfLosses(warn func(line string)) {
	untyped := w.collect(func(c *converter) []failure { return c.out.losses.untyped })
	if n := len(untyped); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" (the same holds for %s)", message.Count(n-1, "other unit"))
		}
		warn(untyped[0].err.Error() + more)
	}
	fake := map[string]bool{}
	for _, c := range w.threads {
		maps.Copy(fake, c.out.losses.fake)
	}
	if n := len(fake); n > 0 {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" (the same holds for %s)", message.Count(n-1, "other type"))
		}
		warn(fmt.Sprintf("%s: BTF can't express the base type %s, so it becomes an integer of 4 bytes "+
			"with the name %s%s", w.d.File.Path, slices.Min(slices.Collect(maps.Keys(fake))), fakeInt,
			more))
	}
}
