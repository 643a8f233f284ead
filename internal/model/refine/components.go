package refine

// Components calls f with each strongly connected component of a graph of n nodes, including single
// nodes. Each component comes after all components to which it refers. The function refs appends to
// buf the nodes to which a node refers. The function f must not keep the component.
//
// This is Tarjan's algorithm, but without recursion: chains may be as long as the input.
func Components(n int, refs func(node int32, buf []int32) []int32, f func(component []int32)) {
	type frame struct {
		node  int32
		first int // its references that are still to be followed are pending[first:]
	}
	var (
		number  = make([]int32, n) // in the order in which nodes were found, from 1
		low     = make([]int32, n) // the least number of a node known to be reachable
		done    = make([]bool, n)
		found   []int32 // not in a component yet
		stack   []frame
		pending []int32
		count   int32
	)
	enter := func(node int32) {
		count++
		number[node], low[node] = count, count
		first := len(pending)
		found = append(found, node)
		if pending = refs(node, pending); len(pending) == first { // it refers to nothing
			done[node] = true
			f(found[len(found)-1:])
			found = found[:len(found)-1]
			return
		}
		stack = append(stack, frame{node, first})
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
