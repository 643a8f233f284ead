package dump

import (
	"fmt"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/message"
)

// locParam, locProto and locsec print types of the kinds of locations like bpftool of Linux 7.4.
func (p *printer) locParam(t *btf.Type, at *btf.Blob) {
	p.num(" size=", t.SizeOrType)
	p.str(fmt.Sprintf(" flags=%#x", t.Extra))
	p.num(" vlen=", t.Vlen)
	p.str(" values='" + location(t, at.WordsOf(t)) + "'")
}

func (p *printer) locProto(t *btf.Type, at *btf.Blob) {
	p.num(" vlen=", t.Vlen)
	for _, id := range at.WordsOf(t) {
		p.num("\n\ttype_id=", id)
		if param, in := p.blob.ByID(id); param != nil && param.Kind == btf.KindLocParam {
			p.str(" value='" + location(param, in.WordsOf(param)) + "'")
		}
	}
}

func (p *printer) locsec(t *btf.Type, at *btf.Blob) {
	p.num(" vlen=", t.Vlen)
	for _, s := range at.SitesOf(t) {
		if f, _ := p.blob.ByID(s.Func); f != nil {
			p.quoted("\n\tname='", f.NameOff)
		} else {
			p.str("\n\tname='(invalid)'")
		}
		p.num(" func_type_id=", s.Func)
		p.num(" loc_proto_type_id=", s.LocProto)
		p.num(" offset=", s.Offset)
	}
}

// location spells where a LOC_PARAM says that a parameter is, such as "*(reg2 + 0x10)". Values that
// the flags give no meaning are printed as numbers.
func location(t *btf.Type, values []uint32) string { return spelling{}.location(t, values) }

// spelling spells locations like bpftool or, with names, with the machine's names of registers.
type spelling struct{ Names }

func (s spelling) location(t *btf.Type, values []uint32) string {
	flags := t.Extra
	signed := flags&btf.LocSigned != 0
	if flags&(btf.LocConst|btf.LocOffset) != 0 {
		flags &^= btf.LocSigned
	}
	n := len(values)
	switch {
	case flags == btf.LocConst && (n == 1 || n == 2):
		if signed {
			return fmt.Sprint(extend(wide(values), t.SizeOrType))
		}
		return fmt.Sprintf("%#x", wide(values))
	case flags == btf.LocConst|btf.LocAddr && (n == 1 || n == 2):
		if s.Object != nil {
			if name := s.Object(wide(values)); name != "" {
				return "&" + message.Printable(name)
			}
		}
		return fmt.Sprintf("%#x (addr)", wide(values))
	case flags == btf.LocReg && n == 1:
		return s.register(values[0], t.SizeOrType)
	case flags == btf.LocReg && n == 2:
		return s.register(values[0], 0) + ", " + s.register(values[1], 0)
	case flags == btf.LocReg|btf.LocDeref && n == 1:
		return "*(" + s.register(values[0], 0) + ")"
	case flags == btf.LocReg|btf.LocOffset && (n == 2 || n == 3):
		return s.moved(values, signed)
	case flags == btf.LocReg|btf.LocOffset|btf.LocDeref && (n == 2 || n == 3):
		return "*(" + s.moved(values, signed) + ")"
	}
	return strings.Trim(fmt.Sprintf("%#x", values), "[]")
}

// moved spells the sum of a register and an offset.
func (s spelling) moved(values []uint32, signed bool) string {
	offset, base := wide(values[1:]), s.register(values[0], 0)
	if by := extend(offset, uint32(4*len(values)-4)); signed && by < 0 {
		return fmt.Sprintf("%s - %#x", base, uint64(-by))
	}
	return fmt.Sprintf("%s + %#x", base, offset)
}

// register spells a register that holds a value of size bytes, or an address if size is 0.
func (s spelling) register(n, size uint32) string {
	if n == btf.LocFrameBase {
		return "fbreg"
	}
	if s.Register != nil {
		if name := s.Register(n, size); name != "" {
			return name
		}
	}
	return fmt.Sprint("reg", n)
}

// wide returns the number in one or two words, the low one first.
func wide(words []uint32) (n uint64) {
	for i, w := range words {
		n |= uint64(w) << (32 * i)
	}
	return n
}

// extend returns the signed number in the low bytes of n.
func extend(n uint64, bytes uint32) int64 {
	if bytes == 0 || bytes > 8 {
		bytes = 8
	}
	shift := 64 - 8*bytes
	return int64(n<<shift) >> shift
}
