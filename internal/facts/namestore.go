package facts

import "strings"

// nameStore keeps names together, where strings.Clone would allocate each.
type nameStore struct{ text strings.Builder }

// keep returns a copy of s that doesn't refer to the file.
func (n *nameStore) keep(s string) string {
	if n.text.Cap()-n.text.Len() < len(s) {
		n.text = strings.Builder{}
		n.text.Grow(max(1<<16, len(s)))
	}
	at := n.text.Len()
	n.text.WriteString(s)
	return n.text.String()[at:]
}
