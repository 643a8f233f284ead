package repro

import (
	"math/bits"
	"slices"
)

// List is a list of numbers that several actions can share. It has the numbers of its parent and
// its own items. Equal lists are usually the same List.
type List struct {
	Parent *List   // or nil
	Items  []int32 // ascending, none of them in Parent; they must not be changed

	number int // in lists.all
	// This field is for a list of causes.
	users int // how many actions have the list
	// These fields are for a list of actions. They hold what is known about actions that read the
	// outputs of the listed actions.
	causes []int
	depth  int
	reason string // why the actions are allowed to differ, "" if they aren't
	judged bool
}

// hasNumber reports whether a number is in the list, which may be nil.
func (l *List) hasNumber(n int32) bool {
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

// lists stores equal lists only once.
type lists struct {
	of  map[uint64]*List // by hash: the first list with that hash
	all []*List          // parents before their children
}

func newLists() *lists { return &lists{of: map[uint64]*List{}} }

// share returns a List with the numbers of the List parent and those in items, or nil if there are
// no numbers. It changes items.
func (l *lists) share(parent *List, items []int32) *List {
	slices.Sort(items)
	items = slices.DeleteFunc(slices.Compact(items), parent.hasNumber)
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

// readers orders actions so that each comes after the actions whose outputs it reads.
type readers struct {
	acts []Action

	waits    []int     // by list: how many of its actions, plus its parent, aren't in the order yet
	users    [][]int32 // by list: the actions that have it
	children [][]int32 // by list: the lists that have it as their parent
	starts   []int     // by action: where its part of holders begins
	holders  []int32   // by action: the lists that contain the action

	order []int
	todo  []int32 // lists whose actions are all in the order
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

// run returns the ordered list of the actions that differ. Actions that read from each other in a
// cycle, which Bazel never logs, come last.
func (r *readers) run() []int {
	for i := range r.acts {
		if l := r.acts[i].Upstream(); l != nil {
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
		if l := r.acts[i].Upstream(); l != nil && r.waits[l.number] > 0 {
			r.order = append(r.order, i)
		}
	}
	return r.order
}

// release records that one more action of the list with the number n is in the order.
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
