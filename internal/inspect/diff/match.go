package diff

import "slices"

// match pairs the elements of two lists by name: the result has, for each element of a, the index
// of its partner in b, or -1. If a name repeats, its occurrences are paired in order.
func match(a, b []string) []int {
	to := make([]int, len(a))
	start, end := 0, min(len(a), len(b))
	for start < end && a[start] == b[start] {
		to[start] = start
		start++
	}
	tail := 0
	for end-tail > start && a[len(a)-1-tail] == b[len(b)-1-tail] {
		to[len(a)-1-tail] = len(b) - 1 - tail
		tail++
	}
	restA, restB := a[start:len(a)-tail], b[start:len(b)-tail]
	places := make(map[string][]int, len(restB))
	for j, name := range restB {
		places[name] = append(places[name], start+j)
	}
	for i, name := range restA {
		to[start+i] = -1
		if js := places[name]; len(js) > 0 {
			to[start+i] = js[0]
			places[name] = js[1:]
		}
	}
	return to
}

// matchRest pairs elements without a partner that have the same text, if it isn't "" and no other
// such element has it. It returns the elements of a that it has paired.
func matchRest(to []int, lenB int, textA, textB func(i int) string) map[int]bool {
	taken := make([]bool, lenB)
	rest := lenB
	for _, j := range to {
		if j >= 0 {
			taken[j] = true
			rest--
		}
	}
	if rest == 0 || rest == lenB-len(to) {
		return nil
	}
	unique := func(list []int, text func(i int) string) map[string]int {
		found := map[string]int{}
		for _, i := range list {
			t := text(i)
			if _, repeats := found[t]; repeats || t == "" {
				found[t] = -1
				continue
			}
			found[t] = i
		}
		return found
	}
	var left, right []int
	for i, j := range to {
		if j < 0 {
			left = append(left, i)
		}
	}
	for j := range lenB {
		if !taken[j] {
			right = append(right, j)
		}
	}
	others := unique(right, textB)
	paired := map[int]bool{}
	for t, i := range unique(left, textA) {
		if j, ok := others[t]; ok && i >= 0 && j >= 0 {
			to[i] = j
			paired[i] = true
		}
	}
	return paired
}

// matchPlaces pairs elements without a partner that are in the same place in two lists of the same
// length. It adds the elements of a that it has paired to paired, which may be nil.
func matchPlaces(to []int, paired map[int]bool) map[int]bool {
	taken := make([]bool, len(to))
	for _, j := range to {
		if j >= 0 {
			taken[j] = true
		}
	}
	for i, j := range to {
		if j < 0 && !taken[i] {
			if paired == nil {
				paired = map[int]bool{}
			}
			to[i], paired[i] = i, true
		}
	}
	return paired
}

// inOrder finds a longest list of elements of a whose partners in b are in the same order. In the
// result, the elements of that list are true.
func inOrder(to []int) []bool {
	var tails []int // by length of a list, minus 1: the last element of the list that ends earliest
	previous := make([]int, len(to))
	for i, j := range to {
		if j < 0 {
			continue
		}
		n, _ := slices.BinarySearchFunc(tails, j, func(k, j int) int { return to[k] - j })
		previous[i] = -1
		if n > 0 {
			previous[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	in := make([]bool, len(to))
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = previous[i] {
			in[i] = true
		}
	}
	return in
}

// walkPairs calls visit for all elements of two lists: for pairs in the order of a, with -1 for a
// missing partner. An element of b without a partner comes before the next element of b that has
// one.
func walkPairs(to []int, lenB int, visit func(i, j int)) {
	from := make([]int, lenB)
	for j := range from {
		from[j] = -1
	}
	for i, j := range to {
		if j >= 0 {
			from[j] = i
		}
	}
	next := 0
	for i, j := range to {
		for ; next < j; next++ {
			if from[next] < 0 {
				visit(-1, next)
			}
		}
		visit(i, j)
	}
	for ; next < lenB; next++ {
		if from[next] < 0 {
			visit(-1, next)
		}
	}
}
