package verify

import "github.com/rules-btf/rules_btf/internal/format/btf"

// needsResolve kinds are those that btf_resolve looks at before another type may refer to them.
func needsResolve(k btf.Kind) bool {
	switch k {
	case btf.KindPtr, btf.KindStruct, btf.KindUnion, btf.KindArray, btf.KindVar, btf.KindFunc,
		btf.KindDeclTag, btf.KindDatasec:
		return true
	}
	return k.IsModifier()
}

// sourceOnly kinds refer to others, but nothing except a DATASEC or a tag refers to them.
func sourceOnly(k btf.Kind) bool {
	return k == btf.KindVar || k == btf.KindDeclTag || k == btf.KindDatasec
}

// sizeless kinds have no size. Void is one.
func sizeless(k btf.Kind) bool {
	switch k {
	case btf.KindVoid, btf.KindFwd, btf.KindFunc, btf.KindFuncProto, btf.KindDeclTag:
		return true
	}
	return false
}
