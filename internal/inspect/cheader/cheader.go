// Package cheader writes BTF types as a C header, such as the vmlinux.h of BPF programs. BTF says
// where each member is, but not which attributes and padding put it there. So [Write] searches for
// C text that makes compilers produce the same layout. Write also makes names unique, because names
// in BTF may repeat.
//
// The text is identical to bpftool's (bpftool btf dump, format c) wherever bpftool's text compiles
// and has the BTF's layout; docs/inside.md lists the differences. The steps: types are sorted in
// bpftool's order (sort.go); each is preceded by the types that it needs (order.go); definitions
// are written with the forward declarations that they need (define.go, declare.go). For each
// struct, several styles are tried against models of compilers, until one style gives the BTF's
// layout (layout.go, fields.go).
package cheader

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// These are limits for untrusted input: how deep types may nest, how many bytes of text a header
// may have, at least and for each type, and how many steps writing it may take. A kernel's header
// is about 3 MB for 150,000 types, and takes 400,000 steps.
const (
	maxDepth    = 500
	minText     = 1 << 24
	textPerType = 1 << 7
	maxSteps    = 1 << 22
)

func maxText(b *btf.Blob) int { return minText + textPerType*int(b.EndID()) }

// Write writes a header with types from b and its bases. If roots is nil, it writes all types, and
// then prototypes of the kfuncs. Otherwise, it writes the types whose ids are in roots, and the
// types that these need. Functions and variables in roots are declared extern. Errors name the type
// that is invalid or that C can't express.
func Write(w io.Writer, b *btf.Blob, roots []uint32) error {
	if err := check(b); err != nil {
		return err
	}
	g := newGenerator(b)
	g.str(head)
	if roots == nil {
		for _, id := range g.sorted() {
			g.dump(id)
		}
		g.kfuncs()
	} else {
		for _, id := range roots {
			g.dump(id)
		}
		g.externs(roots)
	}
	g.str(tail)
	if g.err != nil {
		return g.err
	}
	_, err := w.Write(slices.Insert(g.out, len(head), g.undefine()...))
	return err
}

// undefine returns #undef lines for the predefined macros whose names the header uses.
func (g *generator) undefine() []byte {
	if len(g.names.macros) == 0 {
		return nil
	}
	text := []byte("/* names that compilers may predefine as macros */\n")
	for _, name := range slices.Sorted(maps.Keys(g.names.macros)) {
		text = append(text, "#undef "+name+"\n"...)
	}
	return append(text, '\n')
}

// head and tail surround the declarations. The conditions in the header prevent warnings about
// unknown attributes and pragmas: only clang has the pragma, only clang's BPF target has the
// attribute preserve_access_index, and gcc doesn't have the attribute address_space. gcc's BPF
// target has preserve_access_index, but no pragma for all structs. Without relocations, programs
// would silently read wrong fields, so there is an error.
const head = `#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#ifdef __clang__
#if __has_attribute(preserve_access_index)
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif
#endif
#elif defined(__GNUC__)
#if defined(__bpf__) && !defined(BPF_NO_PRESERVE_ACCESS_INDEX)
#error "gcc: read fields with BPF_CORE_READ, and define BPF_NO_PRESERVE_ACCESS_INDEX"
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wpacked-not-aligned"
#endif

#ifndef __ksym
#define __ksym __attribute__((section(".ksyms")))
#endif

#ifndef __weak
#define __weak __attribute__((weak))
#endif

#ifndef __bpf_fastcall
#if __has_attribute(bpf_fastcall)
#define __bpf_fastcall __attribute__((bpf_fastcall))
#else
#define __bpf_fastcall
#endif
#endif

`

const tail = `#ifdef __clang__
#if __has_attribute(preserve_access_index)
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif
#endif
#elif defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#endif /* __VMLINUX_H__ */
`

const (
	ordering   = 1 << iota // order is visiting the type
	ordered                // the type, or at least everything that it needs, is in the queue
	emitting               // emit is visiting the type
	emitted                // the type's definition is written
	declared               // the forward declaration (or, for a typedef, the definition) is written
	referenced             // another type refers to the type
)

// generator writes one header. After the first error, its methods do nothing.
type generator struct {
	blob    *btf.Blob
	layouts *layouts
	names   *names
	state   []uint8  // by type id
	queue   []uint32 // the types to write, in order
	chain   []uint32 // declare's stack

	// sized is set while a member is written, because the type of a member must be complete.
	sized        bool
	out          []byte
	depth, steps int
	err          error
}

func newGenerator(b *btf.Blob) *generator {
	g := &generator{blob: b, names: newNames(b), state: make([]uint8, b.EndID())}
	g.layouts = newLayouts(g)
	g.out = make([]byte, 0, len(head)+len(b.Strings)+16*(len(b.Members)+len(b.Enums)))
	g.state[0] = ordered | emitted
	for o := b; o != nil; o = o.Base {
		for i := range o.Types {
			for ref := range o.Refs(&o.Types[i]) {
				g.state[*ref] |= referenced
			}
		}
	}
	return g
}

// dump writes a type and the types that it needs, unless they have already been written.
func (g *generator) dump(id uint32) {
	g.queue = g.queue[:0]
	g.order(id, false)
	for _, id := range g.queue {
		g.emit(id, 0)
	}
}

// enter counts a step, and begins a level of nesting, which leave ends. It returns false if there
// is an error; in that case, leave need not be called.
func (g *generator) enter(id uint32) bool {
	g.depth++
	g.steps++
	switch {
	case g.err != nil:
	case g.depth > maxDepth:
		g.fail(id, "types nest more than %d levels deep", maxDepth)
	case g.steps > maxSteps || len(g.out) > maxText(g.blob):
		g.err = errors.New("the types are nested so often that the header would be too large")
	}
	return g.err == nil
}

func (g *generator) leave() { g.depth-- }

func (g *generator) fail(id uint32, format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf("%s: %s", describe(g.blob, id), fmt.Sprintf(format, args...))
	}
}

func describe(b *btf.Blob, id uint32) string {
	t, _ := b.ByID(id)
	if t == nil {
		return fmt.Sprintf("BTF type [%d]", id)
	}
	name := b.TypeName(t)
	if name == "" {
		name = "(anon)"
	}
	return fmt.Sprintf("BTF type [%d] %v %s", id, t.Kind, name)
}

func (g *generator) str(s string) { g.out = append(g.out, s...) }

func (g *generator) tabs(level int) {
	g.out = append(g.out, '\n')
	for range level {
		g.out = append(g.out, '\t')
	}
}
