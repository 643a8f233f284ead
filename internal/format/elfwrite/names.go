package elfwrite

import (
	"bytes"
	stdelf "debug/elf"
)

func (e *Edit) addName(name string) uint32 {
	table := &e.sections[e.strndx]
	at := len(table.data)
	table.data = append(bytes.Clone(table.data), name...)
	table.data = append(table.data, 0)
	return uint32(at)
}

// cutName removes a name from the table if it is the last name there and nothing else uses it. So
// when a section is added and later removed, nothing of it remains.
func (e *Edit) cutName(at uint32, name string) {
	table := &e.sections[e.strndx]
	if at == 0 || int64(at)+int64(len(name))+1 != int64(len(table.data)) {
		return
	}
	for i := range e.sections {
		s := &e.sections[i]
		if int(s.header.link) == e.strndx && stdelf.SectionType(s.header.typ) != stdelf.SHT_NULL {
			return // such as a symbol table whose names are in this table
		}
		if int64(s.header.name)+int64(len(s.name))+1 > int64(at) {
			return
		}
	}
	table.data = table.data[:at:at]
}
