package dwarf

// printTable holds the fingerprints of a unit's types by offset. Keys lie apart from the rest, so that a search stays in
// few cache lines.
type printTable struct {
	keys   []uint32 // 0: free; no entry lies at offset 0
	prints []Fingerprint
	used   int
}

func (t *printTable) reset() {
	if t.keys == nil {
		t.keys, t.prints = make([]uint32, 1<<6), make([]Fingerprint, 1<<6)
	}
	clear(t.keys)
	t.used = 0
}

// at returns where off is, or belongs.
func (t *printTable) at(off uint32) (i uint32, known bool) {
	mask := uint32(len(t.keys) - 1)
	for i = off * 0x9e3779b1 >> 9 & mask; ; i = (i + 1) & mask {
		switch t.keys[i] {
		case off:
			return i, true
		case 0:
			return i, false
		}
	}
}

func (t *printTable) set(off uint32, fp Fingerprint) {
	i, known := t.at(off)
	t.keys[i], t.prints[i] = off, fp
	if known {
		return
	}
	if t.used++; t.used*3 <= len(t.keys) {
		return
	}
	keys, prints := t.keys, t.prints
	t.keys, t.prints = make([]uint32, 2*len(keys)), make([]Fingerprint, 2*len(keys))
	for i, off := range keys {
		if off != 0 {
			at, _ := t.at(off)
			t.keys[at], t.prints[at] = off, prints[i]
		}
	}
}
