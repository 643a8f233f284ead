package convert

import (
	std "debug/dwarf"

	"github.com/rules-btf/rules_btf/internal/format/dwarf"
)

// walk visits the entries that declare types, functions and variables. A definition counts wherever
// it is: in a function, a block, a namespace, a struct or a prototype.
func (u *unit) walk() error {
	u.codeless = u.codeless[:0]
	u.nameless, u.tagged = u.nameless[:0], u.tagged[:0]
	clear(u.origins)
	err := u.walkEntries()
	if pending := u.visitPending(); pending != nil {
		return pending // that definition precedes what err is about
	}
	if err == nil {
		err = u.visitNameless()
	}
	if err == nil {
		err = u.visitCodeless()
	}
	return err
}

// walkEntries is walk up to the last entry. It leaves some definitions pending.
func (u *unit) walkEntries() error {
	off := u.r.Root.Next
	if !u.r.Root.Children {
		return nil
	}
	swept := u.c.repeats != repeatNone
	if swept {
		if err := u.visitSwept(); err != nil {
			return err
		}
	}
	for depth, global := 1, 1; depth > 0; {
		if swept && depth == 1 {
			off = u.prints.Visit(off)
		}
		if end, err := u.visitDefinition(off); err != nil {
			return err
		} else if end != 0 {
			off = end
			continue
		}
		how := dwarf.SkipGlobal
		if depth != global {
			how = dwarf.SkipLocal
		}
		if next, deeper := u.r.Skip(off, how); next != off {
			off, depth = next, depth+deeper
			continue
		}
		e, err := u.r.Peek(off)
		if err != nil {
			return err
		}
		if e.Abbrev == nil {
			if uint64(e.Next) >= u.r.Unit.Len {
				break
			}
			depth--
			global = min(global, depth)
			off = e.Next
			continue
		}
		enter, next, err := u.visit(e, depth == global)
		if err != nil {
			return err
		}
		if next != 0 {
			off = next
			continue
		}
		if !enter || !e.Abbrev.Encloses {
			if off, err = u.r.After(e); err != nil {
				return err
			}
			continue
		}
		if e.Abbrev.Tag == std.TagNamespace && global == depth {
			global++
		}
		depth++
		off = e.Next
	}
	return nil
}

// visit adds what e declares. enter reports whether the children of e must also be visited; next is
// the offset after them, or 0 if that offset is unknown. global is set if e is not in a function.
func (u *unit) visit(e dwarf.Head, global bool) (enter bool, next uint32, err error) {
	if dwarf.IsDefinition(e.Abbrev.Tag) {
		return u.visitType(e)
	}
	switch e.Abbrev.Tag {
	case std.TagSubprogram:
		return u.visitFunction(e)
	case std.TagVariable:
		if !global || !e.Has(dwarf.Location) || u.c.in.opt.Want == OnlySites {
			return true, 0, nil
		}
		return true, 0, u.visitVariable(e.Off)
	case std.TagImportedUnit:
		return false, 0, u.visitImport(e)
	}
	return true, 0, nil
}
