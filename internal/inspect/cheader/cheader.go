// Package cheader writes the types of a BTF as a C header, such as the vmlinux.h of BPF programs.
// BTF has the place of each member, but not the attributes and padding that put it there, and names
// may repeat. So [Write] looks for C text that compilers lay out in the same way.
//
// The text is that of bpftool btf dump with the format c, wherever that compiles and has the BTF's
// layout; docs/inside.md lists the differences. The steps: the types are sorted as by bpftool
// (sort.go); each is preceded by the types that it needs (order.go); definitions are written with
// the forward declarations that they need (define.go, declare.go). For each struct, several styles
// are tried with a model of compilers, until one has the BTF's layout (layout.go, fields.go).
package cheader

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// Limits for untrusted input: how deep types may nest, and the bytes of text and steps of a header.
// A kernel's header has some 3 MB, in 400,000 steps.
const (
	maxDepth = 500
	maxText  = 1 << 26
	maxSteps = 1 << 22
)

// Write writes a header with the types of b and its bases. With nil roots, it has all types, and
// prototypes of the kfuncs; else the types with the ids in roots and those that they need.
// Functions and variables among roots are declared as extern. The error names a type that is not
// valid, or that C can't express.
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

// undefine returns the text that undefines macros whose names are used in the header.
func (g *generator) undefine() []byte {
	if len(g.names.macros) == 0 {
		return nil
	}
	text := []byte("/* names that compilers may have as macros */\n")
	for _, name := range slices.Sorted(maps.Keys(g.names.macros)) {
		text = append(text, "#undef "+name+"\n"...)
	}
	return append(text, '\n')
}

// head and tail surround the declarations. Compilers warn about unknown attributes and pragmas:
// only clang has the pragma, and only its BPF target the attribute preserve_access_index; gcc has
// no address_space.
const head = `#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#ifdef __clang__
#if __has_attribute(preserve_access_index)
#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)
#endif
#endif
#elif defined(__GNUC__)
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

// States of a type.
const (
	ordering   = 1 << iota // order is visiting it
	ordered                // it is in the queue, or what it needs is
	emitting               // emit is visiting it
	emitted                // its definition is written
	declared               // its forward declaration is written, or for a typedef its definition
	referenced             // another type refers to it
)

// generator is the state of writing a header. Its methods do nothing once there is an error.
type generator struct {
	blob    *btf.Blob
	layouts *layouts
	names   *names
	state   []uint8  // by type id
	queue   []uint32 // the types to write, in order
	chain   []uint32 // the stack of declare

	// sized is set while a member is written, whose type must be complete.
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

// dump writes a type and what it needs, unless that is written already.
func (g *generator) dump(id uint32) {
	g.queue = g.queue[:0]
	g.order(id, false)
	for _, id := range g.queue {
		g.emit(id, 0)
	}
}

// enter counts a step and a level of nesting, which leave takes back. It returns false, and needs
// no leave, if there is an error.
func (g *generator) enter(id uint32) bool {
	g.depth++
	g.steps++
	switch {
	case g.err != nil:
	case g.depth > maxDepth:
		g.fail(id, "types nest more than %d levels deep", maxDepth)
	case g.steps > maxSteps || len(g.out) > maxText:
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

// describe names a type in errors.
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

// tabs begins a line.
func (g *generator) tabs(level int) {
	g.out = append(g.out, '\n')
	for range level {
		g.out = append(g.out, '\t')
	}
}
