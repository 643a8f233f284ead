package shared

// users are who refers to whom in a graph of numbered nodes.
type users struct {
	first []uint32 // by node: the first of those that refer to it, by index in list
	list  []user
}

// user is a node that refers to another, and the next one that refers to the same, 0 for none.
type user struct{ node, next uint32 }

func newUsers(nodes int) *users {
	return &users{first: make([]uint32, nodes), list: make([]user, 1)}
}

// add says that a node refers to another.
func (u *users) add(from, to uint32) {
	u.list = append(u.list, user{from, u.first[to]})
	u.first[to] = uint32(len(u.list) - 1)
}

// spread marks all nodes that lead to marked ones.
func (u *users) spread(marked []bool) {
	var work []uint32
	for n, is := range marked {
		if is {
			work = append(work, uint32(n))
		}
	}
	for len(work) > 0 {
		n := work[len(work)-1]
		work = work[:len(work)-1]
		for i := u.first[n]; i != 0; i = u.list[i].next {
			if from := u.list[i].node; !marked[from] {
				marked[from] = true
				work = append(work, from)
			}
		}
	}
}
