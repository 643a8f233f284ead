package btf

// Copy appends t, a type record from another blob, to b. The function name maps a string offset in
// the record to one in b; ref does the same for type ids, and is called in the order of Refs.
func (b *Blob) Copy(from *Blob, t *Type, name, ref func(uint32) uint32) {
	x := *t
	x.NameOff = name(t.NameOff)
	switch t.Kind {
	case KindArray:
		x.First = uint32(len(b.Arrays))
		b.Arrays = append(b.Arrays, from.ArrayOf(t))
	case KindStruct, KindUnion:
		x.First = uint32(len(b.Members))
		for _, m := range from.MembersOf(t) {
			m.NameOff = name(m.NameOff)
			b.Members = append(b.Members, m)
		}
	case KindEnum, KindEnum64:
		x.First = uint32(len(b.Enums))
		for _, e := range from.EnumsOf(t) {
			e.NameOff = name(e.NameOff)
			b.Enums = append(b.Enums, e)
		}
	case KindFuncProto:
		x.First = uint32(len(b.Params))
		for _, p := range from.ParamsOf(t) {
			p.NameOff = name(p.NameOff)
			b.Params = append(b.Params, p)
		}
	case KindDatasec:
		x.First = uint32(len(b.Secinfos))
		b.Secinfos = append(b.Secinfos, from.SecinfosOf(t)...)
	case KindLocParam, KindLocProto:
		x.First = uint32(len(b.Words))
		b.Words = append(b.Words, from.WordsOf(t)...)
	case KindLocsec:
		x.First = uint32(len(b.Sites))
		b.Sites = append(b.Sites, from.SitesOf(t)...)
	}
	for r := range b.Refs(&x) {
		*r = ref(*r)
	}
	b.Types = append(b.Types, x)
}
