package survey

import (
	"iter"

	"github.com/rules-btf/rules_btf/internal/support/pages"
)

// Lists has one list of values for each key, for example one for each name or node. All lists share
// one slice, so many short lists cost little.
type Lists[K ~uint32 | ~int32, T any] struct {
	last []uint32 // by key: the index of its last value in all + 1
	all  []listed[T]
}

type listed[T any] struct {
	value  T
	before uint32 // the index of the key's previous value in all + 1
}

// NewLists makes empty lists for the keys from 0 to keys-1, with room for this number of values.
func NewLists[K ~uint32 | ~int32, T any](keys, room int) Lists[K, T] {
	return Lists[K, T]{pages.Make[uint32](keys), make([]listed[T], 0, room)}
}

// Add adds a value to the list of a key.
func (l *Lists[K, T]) Add(key K, value T) {
	l.all = append(l.all, listed[T]{value, l.last[key]})
	l.last[key] = uint32(len(l.all))
}

// Of returns the values of a key, the last one first. A key that is out of range has no values.
func (l *Lists[K, T]) Of(key K) iter.Seq[T] {
	var last uint32
	if int(key) < len(l.last) {
		last = l.last[key]
	}
	return func(yield func(T) bool) {
		for at := last; at != 0; at = l.all[at-1].before {
			if !yield(l.all[at-1].value) {
				return
			}
		}
	}
}

// Has reports whether a key has values.
func (l *Lists[K, T]) Has(key K) bool { return int(key) < len(l.last) && l.last[key] != 0 }

// All returns the values of all keys.
func (l *Lists[K, T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range l.all {
			if !yield(l.all[i].value) {
				return
			}
		}
	}
}

// Keys returns the keys that have values, in order.
func (l *Lists[K, T]) Keys() iter.Seq[K] { return l.KeysIn(0, K(len(l.last))) }

// KeysIn returns those keys in the range from from to to-1 that have values, in order.
func (l *Lists[K, T]) KeysIn(from, to K) iter.Seq[K] {
	return func(yield func(K) bool) {
		for key := from; int(key) < min(int(to), len(l.last)); key++ {
			if l.last[key] != 0 && !yield(key) {
				return
			}
		}
	}
}

// Len is the number of values.
func (l *Lists[K, T]) Len() int { return len(l.all) }
