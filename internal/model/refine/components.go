package refine

// Components calls f with each strongly connected component of a graph of n nodes: the nodes that
// lead to each other, or one that leads to no other that leads back. Each comes after those that it
// refers to. refs appends the nodes that a node refers to. f must not keep the component.
//
// It is Tarjan's algorithm, without recursion: chains may be as long as the input.
func Components(n int, refs func(node int32, buf []int32) []int32, f func(component []int32)) {
	type frame struct {
		node  int32
		first int // its references that are not looked at yet are pending[first:]
	}
	var (
		number  = make([]int32, n) // in the order in which nodes were found, from 1
		low     = make([]int32, n) // the least number that is known to be reached
		done    = make([]bool, n)
		found   []int32 // not in a component yet
		stack   []frame
		pending []int32
		count   int32
	)
	enter := func(node int32) {
		count++
		number[node], low[node] = count, count
		found = append(found, node)
		stack = append(stack, frame{node, len(pending)})
		pending = refs(node, pending)
	}
	for root := range int32(n) {
		if number[root] != 0 {
			continue
		}
		enter(root)
		for len(stack) > 0 {
			top := stack[len(stack)-1]
			if last := len(pending) - 1; last >= top.first {
				to := pending[last]
				pending = pending[:last]
				if number[to] == 0 {
					enter(to)
				} else if !done[to] {
					low[top.node] = min(low[top.node], number[to])
				}
				continue
			}
			stack = stack[:len(stack)-1]
			if len(stack) > 0 {
				from := stack[len(stack)-1].node
				low[from] = min(low[from], low[top.node])
			}
			if low[top.node] != number[top.node] {
				continue
			}
			i := len(found) - 1
			for found[i] != top.node {
				i--
			}
			for _, node := range found[i:] {
				done[node] = true
			}
			f(found[i:])
			found = found[:i]
		}
	}
}
