package types

// Buckets sorts list by number(element). All these numbers are below n. The order of elements with
// the same number doesn't change. The elements with the number k are sorted[begin[k]:begin[k+1]].
func Buckets[T any](list []T, n int, number func(T) uint32) (sorted []T, begin []uint32) {
	begin = make([]uint32, n+2)
	for _, v := range list {
		begin[number(v)+2]++
	}
	for k := 2; k < len(begin); k++ {
		begin[k] += begin[k-1]
	}
	sorted = make([]T, len(list))
	for _, v := range list {
		next := &begin[number(v)+1]
		sorted[*next] = v
		*next++
	}
	return sorted, begin[:n+1]
}
