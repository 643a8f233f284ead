package inline

import (
	"bytes"
	"debug/dwarf"
	"fmt"
	"slices"
)

// place is what DWARF says about the location of a parameter at the address of a site.
type place struct {
	known      bool
	constant   any    // DW_AT_const_value; or nil, and then:
	expression []byte // may be empty
	views      bool   // if views were ignored, another expression would be used
	frameBase  []byte // the expression of the function's frame base, nil for none
	// whether expression describes the frame base itself
	isFrameBase bool
}

// place reads the location of a parameter.
func (r *reader) place(e *dwarf.Entry, u *unit, in scope) (place, error) {
	field := e.AttrField(dwarf.AttrLocation)
	if field == nil {
		v := e.Val(dwarf.AttrConstValue)
		return place{known: v != nil, constant: v}, nil
	}
	entries, err := r.entries(u, field, e.Val(0x2137)) // DW_AT_GNU_locviews
	if err != nil {
		return place{}, err
	}
	address, view := in.site.address, in.site.view
	p := place{expression: at(entries, address, view)}
	p.known = len(p.expression) > 0
	p.views = !bytes.Equal(p.expression, withoutViews(entries, address))
	if in.frameBase != nil {
		if entries, err = r.entries(u, in.frameBase, nil); err == nil {
			p.frameBase = at(entries, address, view)
		}
	}
	return p, err
}

// entry is an element of a location list.
type entry struct {
	start, end         uint64
	startView, endView uint64
	always             bool // the entry is used if no other one is
	expression         []byte
}

// covers reports whether the range of an entry contains a view of an address.
func (e *entry) covers(address, view uint64) bool {
	if e.always || address < e.start || address > e.end {
		return false
	}
	return (address > e.start || view >= e.startView) && (address < e.end || view < e.endView)
}

// at returns the expression for a view of an address, or nil.
func at(entries []entry, address, view uint64) []byte {
	elsewhere := slices.ContainsFunc(entries, func(e entry) bool {
		return !e.always && (address < e.start || e.end < address)
	})
	for _, v := range []uint64{view, view + 1} {
		for _, e := range entries {
			switch {
			case !e.covers(address, v):
			case e.start == e.end && elsewhere:
				return nil
			default:
				return e.expression
			}
		}
	}
	for _, e := range entries {
		if e.always {
			return e.expression
		}
	}
	return nil
}

// withoutViews returns the expression for an address if all views are ignored, or nil.
func withoutViews(entries []entry, address uint64) []byte {
	var plain []entry
	for _, e := range entries {
		e.startView, e.endView = 0, 0
		plain = append(plain, e)
	}
	return at(plain, address, 0)
}

// entries reads a location. A single expression becomes an entry that covers all addresses.
func (r *reader) entries(u *unit, f *dwarf.Field, views any) ([]entry, error) {
	var list uint64
	name := ".debug_loclists"
	if u.version < 5 {
		name = ".debug_loc"
	}
	lists := r.file.debug[name]
	switch v := f.Val.(type) {
	case []byte:
		return []entry{{always: true, expression: v}}, nil
	case int64: // an offset in the section
		list = uint64(v)
	case uint64: // DW_FORM_loclistx
		at := u.loclistsBase + v*uint64(u.offsetSize)
		if at > uint64(len(lists)) {
			return nil, fmt.Errorf("location list %d is outside of %s", v, name)
		}
		d := &numbers{u.order, lists[at:], nil}
		list = u.loclistsBase + d.uint(u.offsetSize)
	default:
		return nil, fmt.Errorf("a location has class %v", f.Class)
	}
	if list > uint64(len(lists)) {
		return nil, fmt.Errorf("location list 0x%x is outside of %s", list, name)
	}
	d := &numbers{u.order, lists[list:], nil}
	var entries []entry
	var err error
	if u.version < 5 {
		entries, err = oldList(u, d)
	} else {
		entries, err = r.list(u, d)
	}
	if at, ok := views.(int64); ok && err == nil {
		d := &numbers{u.order, lists[:list], nil}
		d.bytes(uint64(at))
		for i := range entries {
			entries[i].startView, entries[i].endView = d.uleb(), d.uleb()
		}
		if err = d.err; err == nil && len(d.rest) > 0 {
			err = fmt.Errorf("the views at 0x%x in %s aren't those of the list at 0x%x", at, name, list)
		}
	}
	return entries, err
}

// oldList reads a list in .debug_loc.
func oldList(u *unit, d *numbers) (entries []entry, err error) {
	base, last := u.base, ^uint64(0)>>(64-8*u.addressSize)
	for d.err == nil {
		start, end := d.uint(u.addressSize), d.uint(u.addressSize)
		switch {
		case start == last:
			base = end
		case start == 0 && end == 0:
			return entries, d.err
		default:
			entries = append(entries, entry{start: base + start, end: base + end,
				expression: d.bytes(d.uint(2))})
		}
	}
	return nil, d.err
}

// list reads a list in .debug_loclists.
func (r *reader) list(u *unit, d *numbers) (entries []entry, err error) {
	indexed := func() uint64 {
		v, err1 := r.indexed(u, d.uleb())
		if err == nil {
			err = err1
		}
		return v
	}
	base := u.base
	var e entry
	for d.err == nil && err == nil {
		switch kind := d.uint(1); kind {
		case 0: // DW_LLE_end_of_list
			return entries, d.err
		case 1: // DW_LLE_base_addressx
			base = indexed()
			continue
		case 2: // DW_LLE_startx_endx
			e.start, e.end = indexed(), indexed()
		case 3: // DW_LLE_startx_length
			e.start = indexed()
			e.end = e.start + d.uleb()
		case 4: // DW_LLE_offset_pair
			e.start, e.end = base+d.uleb(), base+d.uleb()
		case 5: // DW_LLE_default_location
			e.always = true
		case 6: // DW_LLE_base_address
			base = d.uint(u.addressSize)
			continue
		case 7: // DW_LLE_start_end
			e.start, e.end = d.uint(u.addressSize), d.uint(u.addressSize)
		case 8: // DW_LLE_start_length
			e.start = d.uint(u.addressSize)
			e.end = e.start + d.uleb()
		case 9: // DW_LLE_GNU_view_pair, which belongs to the next entry
			e.startView, e.endView = d.uleb(), d.uleb()
			continue
		default:
			return nil, fmt.Errorf("a location list has an entry of kind %d", kind)
		}
		e.expression = d.bytes(d.uleb())
		entries = append(entries, e)
		e = entry{}
	}
	if err == nil {
		err = d.err
	}
	return nil, err
}

// sum is a constant, or a constant that is added to something.
type sum struct {
	to       term
	register uint64
	constant uint64
}

type term int

const (
	nothing   term = iota // the sum is the constant
	register              // plus the content of a register
	frameBase             // plus the frame base
	address               // plus the address at which the file is loaded
)

// location is a simple description of a location, as in one DW_OP_piece.
type location struct {
	form  form
	sum          // for inRegister, only the register counts
	bytes []byte // for isBytes
	size  uint64 // of the piece, or 0
}

type form int

const (
	nowhere form = iota
	inRegister
	inMemory
	isValue // DW_OP_stack_value
	isBytes // DW_OP_implicit_value
)

// noWord is the cause if a location has no form.
type noWord string

func (n noWord) Error() string { return string(n) }

// evaluate evaluates an expression. The result has several elements if there are pieces.
func (r *reader) evaluate(u *unit, p place) (all []location, err error) {
	d := &numbers{u.order, p.expression, nil}
	var stack []sum
	var now location // what the operations since the last piece have described
	push := func(s sum) { stack = append(stack, s) }
	pop := func() (s sum) {
		if len(stack) == 0 {
			err = noWord("an expression takes a value from an empty stack")
			return sum{}
		}
		s, stack = stack[len(stack)-1], stack[:len(stack)-1]
		return s
	}
	// finish completes what the operations since the last piece describe.
	finish := func() {
		if now.form == nowhere && len(stack) > 0 {
			now.form, now.sum = inMemory, pop()
		}
		if len(stack) > 0 {
			err = noWord("several values")
		}
		if u.addressSize == 4 {
			now.constant &= 0xffffffff
			if now.to == register || now.to == frameBase { // an offset
				now.constant = uint64(int64(int32(now.constant)))
			}
		}
		all = append(all, now)
		now, stack = location{}, nil
	}
	for len(d.rest) > 0 && err == nil {
		op := d.uint(1)
		if now.form != nowhere && op != 0x93 {
			return nil, noWord("an operation after the location")
		}
		switch {
		case op == 0x03: // DW_OP_addr
			push(sum{to: address, constant: d.uint(u.addressSize)})
		case op == 0xa1 || op == 0xfb: // DW_OP_addrx
			v, err := r.indexed(u, d.uleb())
			if err != nil {
				return nil, err
			}
			push(sum{to: address, constant: v})
		case op >= 0x08 && op <= 0x0f: // DW_OP_const1u, DW_OP_const1s, DW_OP_const2u …
			n := 1 << ((op - 0x08) / 2)
			if op%2 == 0 {
				push(sum{constant: d.uint(n)})
			} else {
				push(sum{constant: d.sint(n)})
			}
		case op == 0x10: // DW_OP_constu
			push(sum{constant: d.uleb()})
		case op == 0x11: // DW_OP_consts
			push(sum{constant: d.sleb()})
		case op >= 0x30 && op <= 0x4f: // DW_OP_lit0 …
			push(sum{constant: op - 0x30})
		case op == 0x1c: // DW_OP_minus
			b, a := pop(), pop()
			if b.to != nothing {
				return nil, noWord("a difference of two values")
			}
			a.constant -= b.constant
			push(a)
		case op == 0x22: // DW_OP_plus
			b, a := pop(), pop()
			if a.to == nothing {
				a, b = b, a
			}
			if b.to != nothing {
				return nil, noWord("a sum of two values")
			}
			a.constant += b.constant
			push(a)
		case op == 0x23: // DW_OP_plus_uconst
			a := pop()
			a.constant += d.uleb()
			push(a)
		case op >= 0x50 && op <= 0x6f: // DW_OP_reg0 …
			now = location{form: inRegister, sum: sum{to: register, register: op - 0x50}}
		case op == 0x90: // DW_OP_regx
			now = location{form: inRegister, sum: sum{to: register, register: d.uleb()}}
		case op >= 0x70 && op <= 0x8f: // DW_OP_breg0 …
			push(sum{to: register, register: op - 0x70, constant: d.sleb()})
		case op == 0x92: // DW_OP_bregx
			n := d.uleb()
			push(sum{to: register, register: n, constant: d.sleb()})
		case op == 0x91: // DW_OP_fbreg
			s, err := r.frameBase(u, p)
			if err != nil {
				return nil, err
			}
			s.constant += d.sleb()
			push(s)
		case op == 0x9c && p.isFrameBase: // DW_OP_call_frame_cfa
			push(sum{to: frameBase})
		case op == 0x9f: // DW_OP_stack_value
			now.form, now.sum = isValue, pop()
		case op == 0x9e: // DW_OP_implicit_value
			now = location{form: isBytes, bytes: d.bytes(d.uleb())}
		case op == 0x93: // DW_OP_piece
			if now.size = d.uleb(); now.size == 0 {
				return nil, noWord("a piece without bytes")
			}
			finish()
		default:
			return nil, noWord(fmt.Sprintf("operation 0x%x", op))
		}
	}
	if err == nil && (now.form != nowhere || len(stack) > 0) {
		if len(all) > 0 {
			return nil, noWord("an operation after the last piece")
		}
		finish()
	}
	if err == nil {
		err = d.err
	}
	return all, err
}

// frameBase returns the frame base of the function that contains a site.
func (r *reader) frameBase(u *unit, p place) (sum, error) {
	if p.frameBase == nil {
		return sum{}, noWord("a frame base that isn't known")
	}
	all, err := r.evaluate(u, place{expression: p.frameBase, isFrameBase: true})
	switch {
	case err != nil:
		return sum{}, err
	case len(all) != 1 || all[0].form != inRegister && all[0].form != inMemory || all[0].size != 0:
		return sum{}, noWord("a frame base that isn't simple")
	}
	return all[0].sum, nil
}

// text returns the form of a parameter's location, or the cause if it has none.
func (r *reader) text(u *unit, p place, size uint64) (text, cause string) {
	unknown := func(cause string) (string, string) { return "?", cause }
	if !p.known {
		return unknown(absent)
	}
	if size == 0 {
		return unknown("a type without a size")
	}
	if size > 16 {
		return unknown("more than 16 bytes")
	}
	switch v := p.constant.(type) {
	case nil:
	case int64:
		return constant(uint64(v), size)
	case []byte:
		return u.constant(v, size)
	default:
		return unknown(fmt.Sprintf("a constant of type %T", v))
	}
	all, err := r.evaluate(u, p)
	if err != nil {
		return unknown(err.Error())
	}
	if len(all) == 2 {
		return u.pair(all[0], all[1], size)
	}
	if len(all) != 1 || all[0].size != 0 && all[0].size != size {
		return unknown("pieces")
	}
	l := all[0]
	switch word := uint64(u.addressSize); {
	case l.form == nowhere:
		return unknown(absent)
	case l.form == isBytes:
		return u.constant(l.bytes, size)
	case l.form == inRegister:
		return fmt.Sprintf("reg %d", l.register), ""
	case l.form == isValue && size > word:
		return unknown("a value that is larger than an address")
	case l.form == isValue && l.to == nothing:
		return constant(l.constant, size)
	case l.form == isValue && l.to == address:
		start, ok := r.file.start()
		if !ok {
			return unknown("an address in a file that isn't linked")
		}
		return fmt.Sprintf("addr 0x%x", l.constant-start), ""
	case l.form == isValue:
		return "reg " + l.sum.String(), ""
	}
	if l.to != register && l.to != frameBase {
		return unknown("memory at a fixed address")
	}
	return "mem " + l.sum.String(), ""
}

// String returns a sum as N, N+OFF or N-OFF.
func (s sum) String() string {
	text := fmt.Sprint(s.register)
	if s.to == frameBase {
		text = "fb"
	}
	if s.constant != 0 {
		text += fmt.Sprintf("%+d", int64(s.constant))
	}
	return text
}

// pair returns the form of a parameter in two registers.
func (u *unit) pair(a, b location, size uint64) (text, cause string) {
	word := uint64(u.addressSize)
	if a.form != inRegister || b.form != inRegister || a.size != word || a.size+b.size != size ||
		b.size > word || b.size < word && !u.littleEndian() {
		return "?", "pieces"
	}
	return fmt.Sprintf("regs %d %d", a.register, b.register), ""
}

// constant returns the form of a constant that DWARF has as bytes.
func (u *unit) constant(b []byte, size uint64) (text, cause string) {
	if uint64(len(b)) != size {
		return "?", "a constant whose size isn't the parameter's"
	}
	if size > 8 {
		return constant(0, size)
	}
	return constant((&numbers{u.order, b, nil}).uint(len(b)), size)
}

func constant(v, size uint64) (text, cause string) {
	if size > 8 {
		return "?", "a constant of more than 8 bytes"
	}
	return fmt.Sprintf("const %d 0x%x", size, v<<(64-8*size)>>(64-8*size)), ""
}
