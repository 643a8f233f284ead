// Package implicitargs rewrites the BTF of kfuncs that have implicit arguments into the form that
// Linux 7.0 and later expect. Implicit arguments are passed by the verifier, not by the BPF program
// (KF_IMPLICIT_ARGS in include/linux/btf.h).
//
// A kfunc with this flag, such as
//
//	bpf_foo(int arg, struct bpf_prog_aux *aux)
//
// becomes two functions. bpf_foo_impl has the prototype above, and all declaration tags of bpf_foo
// except bpf_kfunc. bpf_foo has the prototype that BPF programs see:
//
//	bpf_foo(int arg)
//
// The rules are those of resolve_btfids (process_kfunc_with_implicit_args in
// tools/bpf/resolve_btfids/main.c of Linux 7.2).
package implicitargs

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link"
	"github.com/rules-btf/rules_btf/internal/link/base"
	"github.com/rules-btf/rules_btf/internal/link/locsec"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
)

// Flag is KF_IMPLICIT_ARGS, one of the flags of a kfunc (include/linux/btf.h).
const Flag = 1 << 16

// suffix is the end of the name of a function with all arguments (KF_IMPL_SUFFIX).
const suffix = "_impl"

// implicit lists the structs to which implicit arguments point (kf_implicit_arg_types).
var implicit = []string{"bpf_prog_aux", "btf_struct_meta"}

// Rewrite changes the functions in b that are listed in kfuncs and have the declaration tag
// bpf_kfunc. The result is raw BTF in canonical order with the same base as b, even if nothing
// changes. If b has sites of inlined functions, they come after the other anonymous types of the
// result. jobs is the number of threads.
// Rule: kfuncs: implicit arguments. Source: resolve_btfids btf2btf,
// process_kfunc_with_implicit_args.
func Rewrite(b *btf.Blob, kfuncs []string, jobs int) ([]byte, error) {
	edited, err := edit(b, kfuncs)
	if err != nil {
		return nil, err
	}
	return relink(edited, jobs)
}

// RewriteIfNeeded is like Rewrite, but returns nil if there is nothing to change.
func RewriteIfNeeded(b *btf.Blob, kfuncs []string, jobs int) ([]byte, error) {
	edited, err := edit(b, kfuncs)
	if err != nil || slices.Equal(edited.Types, b.Types) {
		return nil, err
	}
	return relink(edited, jobs)
}

// relink returns the edited BTF in canonical order.
func relink(edited *btf.Blob, jobs int) ([]byte, error) {
	if !edited.HasLocations() {
		linked, _, err := relinkTypes(edited, jobs)
		if err != nil {
			return nil, err
		}
		return linked.BTF, nil
	}
	_, split, err := apart(edited, func(string) bool { return true }, jobs)
	if err != nil {
		return nil, err
	}
	return btf.Encode(locsec.Join(split), split.Base.Header.Form())
}

// relinkTypes links BTF without sites, and also returns the node of each type of edited.
func relinkTypes(edited *btf.Blob, jobs int) (*link.Linked, []types.ID, error) {
	o, nodes, err := object.FromBlob(object.Target{}, edited)
	if err != nil {
		return nil, nil, err
	}
	opt := link.Options{Features: o.Features, Jobs: jobs}
	if edited.Base != nil {
		parsed, err := base.Parse(edited.Base)
		if err != nil {
			return nil, nil, err
		}
		opt.Base = parsed
	}
	linked, err := link.WithUnits(o, opt)
	return linked, nodes, err
}

// Left lists the kfuncs that still have implicit parameters in b or its bases; Linux 7.0 and later
// expect none there. kfuncs must be sorted.
func Left(b *btf.Blob, kfuncs []string) []string {
	var left []string
	for _, t := range b.All() {
		if t.Kind != btf.KindFunc {
			continue
		}
		name := b.TypeName(t)
		if _, ok := slices.BinarySearch(kfuncs, name); !ok {
			continue
		}
		if p, in := b.ByID(t.SizeOrType); p != nil && p.Kind == btf.KindFuncProto &&
			explicit(in, p) < p.Vlen {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

// edit returns a changed copy of b, with new types at the end.
func edit(b *btf.Blob, kfuncs []string) (*btf.Blob, error) {
	e := newEditor(b)
	wanted := map[string]bool{}
	for _, name := range kfuncs {
		wanted[name] = true
	}
	done := map[uint32]bool{}
	for _, at := range e.tags { // in the order of the tags, like resolve_btfids
		t := &b.Types[at]
		id := t.SizeOrType
		if t.KFlag || t.Extra != btf.DeclTagWhole || b.TypeName(t) != "bpf_kfunc" || id < b.StartID ||
			done[id] {
			continue
		}
		fn, _ := b.ByID(id)
		if fn == nil || fn.Kind != btf.KindFunc || !wanted[b.TypeName(fn)] {
			continue
		}
		done[id] = true
		if err := e.split(id); err != nil {
			return nil, fmt.Errorf("type [%d] FUNC %s: %w", id, b.TypeName(fn), err)
		}
	}
	e.to.Strings += e.names.String()
	return e.to, nil
}

type editor struct {
	from, to *btf.Blob
	tags     []int             // indexes of the declaration tags in from.Types
	funcs    map[string]bool   // names of all functions in the blob and its bases
	protos   map[string]uint32 // the ids of prototypes in to, by content; nil before its first use
	names    strings.Builder   // will be appended to to.Strings
}

func newEditor(b *btf.Blob) *editor {
	to := *b
	to.Types = slices.Clone(b.Types)
	to.Params = slices.Clone(b.Params)
	e := &editor{from: b, to: &to, funcs: map[string]bool{}}
	for i := range b.Types {
		if b.Types[i].Kind == btf.KindDeclTag {
			e.tags = append(e.tags, i)
		}
	}
	for _, t := range b.All() {
		if t.Kind == btf.KindFunc {
			e.funcs[b.TypeName(t)] = true
		}
	}
	return e
}

func (e *editor) add(t btf.Type) uint32 {
	id := e.to.EndID()
	e.to.Types = append(e.to.Types, t)
	return id
}

// split turns the kfunc with the given id into two functions.
func (e *editor) split(id uint32) error {
	fn, _ := e.from.ByID(id)
	proto, in := e.from.ByID(fn.SizeOrType)
	if proto == nil || proto.Kind != btf.KindFuncProto {
		return fmt.Errorf("its type [%d] is not a FUNC_PROTO", fn.SizeOrType)
	}
	if impl := e.from.TypeName(fn) + suffix; !e.funcs[impl] {
		e.funcs[impl] = true
		e.addImpl(impl, id, fn)
	} else if explicit(in, proto) == proto.Vlen {
		return nil // the kfunc has already been split
	}
	e.to.Types[id-e.to.StartID].SizeOrType = e.proto(proto.SizeOrType,
		in.ParamsOf(proto)[:explicit(in, proto)])
	return nil
}

// proto returns the id of a prototype, and adds it only if it is missing. If a function that only
// sites need has the same prototype, there must not be two: resolve_btfids removes duplicates
// before it moves the sites.
func (e *editor) proto(returns uint32, params []btf.Param) uint32 {
	if e.protos == nil {
		e.protos = map[string]uint32{}
		for i := range e.to.Types {
			if t := &e.to.Types[i]; t.Kind == btf.KindFuncProto {
				key := protoKey(t.SizeOrType, e.to.ParamsOf(t))
				if _, ok := e.protos[key]; !ok {
					e.protos[key] = e.to.StartID + uint32(i)
				}
			}
		}
	}
	key := protoKey(returns, params)
	id, ok := e.protos[key]
	if !ok {
		id = e.add(btf.Type{Kind: btf.KindFuncProto, SizeOrType: returns, Vlen: uint32(len(params)),
			First: uint32(len(e.to.Params))})
		e.to.Params = append(e.to.Params, params...)
		e.protos[key] = id
	}
	return id
}

// protoKey has the content of a prototype. BTF has each name only once, so the offsets of names are
// enough.
func protoKey(returns uint32, params []btf.Param) string {
	key := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+8*len(params)), returns)
	for _, p := range params {
		key = binary.LittleEndian.AppendUint32(key, p.NameOff)
		key = binary.LittleEndian.AppendUint32(key, p.Type)
	}
	return string(key)
}

// addImpl adds the function with all arguments, and copies the tags of fn, whose type id is id.
func (e *editor) addImpl(name string, id uint32, fn *btf.Type) {
	impl := *fn
	impl.NameOff = e.to.EndStr() + uint32(e.names.Len())
	e.names.WriteString(name)
	e.names.WriteByte(0)
	implID := e.add(impl)
	for _, i := range e.tags {
		t := e.from.Types[i]
		if t.SizeOrType == id && e.from.TypeName(&t) != "bpf_kfunc" {
			t.SizeOrType = implID
			e.add(t)
		}
	}
}

// explicit returns the number of parameters before the first implicit one.
func explicit(b *btf.Blob, proto *btf.Type) uint32 {
	for i, p := range b.ParamsOf(proto) {
		if isImplicit(b, p.Type) {
			return uint32(i)
		}
	}
	return proto.Vlen
}

// isImplicit reports whether a parameter's type is a pointer to one of the implicit structs.
func isImplicit(b *btf.Blob, id uint32) bool {
	t, in := plain(b, id)
	if t == nil || t.Kind != btf.KindPtr {
		return false
	}
	t, in = plain(in, t.SizeOrType)
	return t != nil && t.Kind == btf.KindStruct && slices.Contains(implicit, in.TypeName(t))
}

// maxChain limits the length of a chain of modifiers, because it may be a cycle.
const maxChain = 64

// plain returns a type without its modifiers (btf_is_mod in tools/lib/bpf/btf.h).
func plain(b *btf.Blob, id uint32) (*btf.Type, *btf.Blob) {
	for range maxChain {
		t, in := b.ByID(id)
		if t == nil {
			return nil, nil
		}
		if !t.Kind.IsModifier() || t.Kind == btf.KindTypedef {
			return t, in
		}
		id = t.SizeOrType
	}
	return nil, nil
}
