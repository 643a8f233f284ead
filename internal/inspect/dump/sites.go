package dump

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// Site describes a site at which a function was inlined.
type Site struct {
	Caller     string      `json:"caller,omitempty"` // the symbol around the site, and an offset
	Section    string      `json:"section"`          // of the ELF file
	Offset     uint32      `json:"offset"`           // in the section
	Function   string      `json:"function"`
	ID         uint32      `json:"id"` // of the function
	Parameters []Parameter `json:"parameters"`
}

// Parameter is a parameter of the function at a site.
type Parameter struct {
	Name     string `json:"name"`
	Location string `json:"location,omitempty"` // "" if it isn't known
	Size     uint32 `json:"size,omitempty"`     // in bytes; 0 if the location isn't known
}

// Names finds names for what BTF has as numbers. Each function may return "", if there is no name.
// Register and Object may be nil.
type Names struct {
	Caller   func(section string, offset uint32) string // the symbol around a site, and an offset
	Register func(number, size uint32) string           // a register that holds size bytes
	Object   func(offset uint64) string                 // the symbol at a distance from _stext
}

// Sites calls f for each site in b, without the bases of b, in the order of sections, offsets and
// functions. If names is not empty, it skips functions with other names; it is an error if one of
// the names has no site. f must not keep the Site.
func Sites(b *btf.Blob, names []string, n Names, f func(*Site) error) error {
	type place struct {
		section string
		site    btf.Site
	}
	var list []place
	found := map[string]bool{}
	for i := range b.Types {
		t := &b.Types[i]
		if t.Kind != btf.KindLocsec {
			continue
		}
		section := sectionOf(b, t)
		for _, s := range b.SitesOf(t) {
			if len(names) == 0 {
				list = append(list, place{section, s})
			} else if name := nameOf(b, s.Func); slices.Contains(names, name) {
				list = append(list, place{section, s})
				found[name] = true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			return fmt.Errorf("no site of a function with the name %q", name)
		}
	}
	slices.SortStableFunc(list, func(x, y place) int {
		return cmp.Or(strings.Compare(x.section, y.section), cmp.Compare(x.site.Offset, y.site.Offset))
	})
	for i := range list {
		p := &list[i]
		s := Site{Section: message.Printable(p.section), Offset: p.site.Offset, ID: p.site.Func,
			Function:   message.Printable(nameOf(b, p.site.Func)),
			Parameters: parametersAt(b, p.site, n)}
		s.Caller = message.Printable(n.Caller(p.section, p.site.Offset))
		if err := f(&s); err != nil {
			return err
		}
	}
	return nil
}

func nameOf(b *btf.Blob, id uint32) string {
	t, _ := b.ByID(id)
	if t == nil {
		return "(invalid)"
	}
	return b.TypeName(t)
}

func parametersAt(b *btf.Blob, s btf.Site, n Names) []Parameter {
	list := []Parameter{}
	at, in := b.ByID(s.LocProto)
	if at == nil || at.Kind != btf.KindLocProto {
		return list
	}
	var own []btf.Param
	if f, _ := b.ByID(s.Func); f != nil && f.Kind == btf.KindFunc {
		if proto, of := b.ByID(f.SizeOrType); proto != nil && proto.Kind == btf.KindFuncProto {
			own = of.ParamsOf(proto)
		}
	}
	for i, id := range in.WordsOf(at) {
		p := Parameter{}
		if i < len(own) {
			name, err := b.Name(own[i].NameOff)
			if err != nil {
				name = "(invalid)"
			}
			if p.Name = message.Printable(name); own[i] == (btf.Param{}) {
				p.Name = "..."
			}
		}
		if t, of := b.ByID(id); t != nil && t.Kind == btf.KindLocParam {
			p.Location, p.Size = spelling{n}.location(t, of.WordsOf(t)), t.SizeOrType
		}
		list = append(list, p)
	}
	return list
}

// WriteSites writes a line for each site; with asJSON, the line is a JSON object.
func WriteSites(w io.Writer, b *btf.Blob, names []string, n Names, asJSON bool) error {
	out := bufio.NewWriterSize(w, chunk)
	err := Sites(b, names, n, func(s *Site) error {
		if !asJSON {
			_, err := out.WriteString(s.text())
			return err
		}
		line, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_, err = out.Write(append(line, '\n'))
		return err
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// text spells a site, such as "caller+0x2c  fdget(fd = %edi, mask = 0x4000)".
func (s *Site) text() string {
	var b strings.Builder
	b.WriteString(cmp.Or(s.Caller, fmt.Sprintf("%s+%#x", s.Section, s.Offset)))
	b.WriteString("  " + s.Function + "(")
	for i, p := range s.Parameters {
		if i > 0 {
			b.WriteString(", ")
		}
		switch {
		case p.Name == "...":
			b.WriteString("...")
		case p.Name == "":
			b.WriteString(cmp.Or(p.Location, "?"))
		default:
			b.WriteString(p.Name + " = " + cmp.Or(p.Location, "?"))
		}
	}
	b.WriteString(")\n")
	return b.String()
}
