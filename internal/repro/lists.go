package repro

import (
	"math/bits"
	"slices"
)

// List is numbers that actions have in common: those of another list, and more. Equal ones are most
// often one List.
type List struct {
	Parent *List   // or nil
	Items  []int32 // ascending, none of them in Parent; they must not be changed

	number int // in lists.all
	// Of causes.
	users int // actions
	// Of actions: what those have that read their outputs.
	causes []int
	depth  int
	reason string // why they are allowed to differ, "" if they aren't
	judged bool
}

// has reports whether a number is in the list, which may be nil.
func (l *List) has(n int32) bool {
	for ; l != nil; l = l.Parent {
		if contains(l.Items, n) {
			return true
		}
	}
	return false
}

// contains reports whether an ascending list has a number.
func contains(list []int32, n int32) bool {
	if len(list) == 0 || n < list[0] || n > list[len(list)-1] {
		return false
	}
	_, ok := slices.BinarySearch(list, n)
	return ok
}

// lists finds equal lists.
type lists struct {
	of  map[uint64]*List // by a hash; of several with one hash, the first
	all []*List          // parents before others
}

func newLists() *lists { return &lists{of: map[uint64]*List{}} }

// share returns the list of a parent's numbers and others, nil if there are none. It changes the
// slice.
func (l *lists) share(parent *List, items []int32) *List {
	slices.Sort(items)
	items = slices.DeleteFunc(slices.Compact(items), parent.has)
	if len(items) == 0 {
		return parent
	}
	hash := uint64(1)
	if parent != nil {
		hash += uint64(parent.number) + 1
	}
	for _, n := range items {
		hash = bits.RotateLeft64((hash^uint64(n))*0x9e3779b97f4a7c15, 29)
	}
	found := l.of[hash]
	if found != nil && found.Parent == parent && slices.Equal(found.Items, items) {
		return found
	}
	made := &List{Parent: parent, Items: slices.Clone(items), number: len(l.all)}
	l.all = append(l.all, made)
	if found == nil {
		l.of[hash] = made
	}
	return made
}

// readers puts actions in an order in which each comes after those it reads from.
type readers struct {
	acts []Action

	waits    []int     // by list: for how many actions, and its parent
	users    [][]int32 // by list: the actions that have it
	children [][]int32 // by list: those that have it as their parent
	starts   []int     // by action: where in holders the lists with it begin
	holders  []int32   // lists

	order []int
	todo  []int32 // lists whose actions are all in order
}

func newReaders(acts []Action, all []*List) *readers {
	r := &readers{acts: acts, waits: make([]int, len(all)),
		users: make([][]int32, len(all)), children: make([][]int32, len(all)),
		starts: make([]int, len(acts)+1)}
	size := 0
	for n, l := range all {
		r.waits[n] = len(l.Items)
		if l.Parent != nil {
			r.waits[n]++
			r.children[l.Parent.number] = append(r.children[l.Parent.number], int32(n))
		}
		size += len(l.Items)
		for _, i := range l.Items {
			r.starts[i+1]++
		}
	}
	for i := range acts {
		r.starts[i+1] += r.starts[i]
	}
	r.holders = make([]int32, size)
	next := slices.Clone(r.starts)
	for n, l := range all {
		for _, i := range l.Items {
			r.holders[next[i]] = int32(n)
			next[i]++
		}
	}
	return r
}

// run returns the actions that differ. Those that read from each other in a circle, which Bazel
// never writes, come last.
func (r *readers) run() []int {
	for i := range r.acts {
		if l := r.acts[i].fromList(); l != nil {
			r.users[l.number] = append(r.users[l.number], int32(i))
		} else if r.acts[i].Verdict != Same {
			r.order = append(r.order, i)
		}
	}
	for at := 0; at < len(r.order); at++ {
		i := r.order[at]
		for _, n := range r.holders[r.starts[i]:r.starts[i+1]] {
			r.release(n)
		}
	}
	for i := range r.acts {
		if l := r.acts[i].fromList(); l != nil && r.waits[l.number] > 0 {
			r.order = append(r.order, i)
		}
	}
	return r.order
}

// release notes that a list waits for one less.
func (r *readers) release(n int32) {
	r.todo = append(r.todo, n)
	for len(r.todo) > 0 {
		n := r.todo[len(r.todo)-1]
		r.todo = r.todo[:len(r.todo)-1]
		if r.waits[n]--; r.waits[n] == 0 {
			for _, i := range r.users[n] {
				r.order = append(r.order, int(i))
			}
			r.todo = append(r.todo, r.children[n]...)
		}
	}
}
