package relocate

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// maxListed is the maximum number of base types that an error lists.
const maxListed = 3

// describe describes a type of either base for a message: [12] STRUCT dev (16 bytes).
func describe(b *btf.Blob, id uint32) string {
	t, _ := b.ByID(id)
	text := fmt.Sprintf("[%d] %v %s", id, t.Kind, b.TypeName(t))
	switch {
	case t.Kind == btf.KindFwd && t.KFlag:
		return text + " (a union)"
	case t.Kind == btf.KindFwd:
		return text + " (a struct)"
	case t.Kind == btf.KindInt:
		return text + fmt.Sprintf(" (%s, encoding %d)", message.Count(t.SizeOrType, "byte"), encoding(t))
	}
	return text + fmt.Sprintf(" (%s)", message.Count(t.SizeOrType, "byte"))
}

// ambiguous is the error for a distilled type that could be either of two types of the base.
func (r *relocation) ambiguous(wanted, first, second uint32) error {
	return fmt.Errorf("type %s of the distilled base is ambiguous: the base has %s and %s",
		describe(r.distilled, wanted), describe(r.base, first), describe(r.base, second))
}

// missing returns an error about the first distilled type without a match; nil if all have one.
func (r *relocation) missing() error {
	first, more := uint32(0), 0
	for id := r.distilled.StartID; id < r.distilled.EndID(); id++ {
		switch {
		case r.ids[id] != 0:
		case first == 0:
			first = id
		default:
			more++
		}
	}
	if first == 0 {
		return nil
	}
	d, _ := r.distilled.ByID(first)
	text := fmt.Sprintf("type %s of the distilled base is not in the base, which has %s",
		describe(r.distilled, first), r.candidates(r.distilled.TypeName(d)))
	if in := r.embeddedIn[first]; in != 0 {
		t, _ := r.split.ByID(in)
		name := r.split.TypeName(t)
		if name == "" {
			name = "(anon)"
		}
		text += fmt.Sprintf("; [%d] %v %s embeds it, so its size must be the same", in, t.Kind, name)
	}
	if more > 0 {
		text += fmt.Sprintf("; the base lacks %s", message.Count(more, "more type"))
	}
	return fmt.Errorf("%s", text)
}

// candidates lists the types of the base that have this name and a kind for which Looks is true.
func (r *relocation) candidates(name string) string {
	var list []string
	more := 0
	for _, b := range object.Chain(r.base) {
		for i := range b.Types {
			t := &b.Types[i]
			if !Looks(t) || r.base.TypeName(t) != name {
				continue
			}
			if len(list) == maxListed {
				more++
				continue
			}
			list = append(list, describe(r.base, b.StartID+uint32(i)))
		}
	}
	switch {
	case len(list) == 0:
		return "no type of that name"
	case more > 0:
		list = append(list, fmt.Sprintf("%d more of that name", more))
	}
	return strings.Join(list, ", ")
}
