package loader

import (
	"fmt"

	"github.com/rules-btf/rules_btf/internal/format/btf"
)

// version is the version of a kernel, such as 7.2. The zero value is an unknown version.
type version struct{ major, minor int }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }

// before reports whether v is known, and lower than other.
func (v version) before(other version) bool {
	return v != version{} &&
		(v.major < other.major || v.major == other.major && v.minor < other.minor)
}

func parseVersion(release string) version {
	var v version
	if _, err := fmt.Sscanf(release, "%d.%d", &v.major, &v.minor); err != nil {
		return version{}
	}
	return v
}

var (
	readsModules = version{5, 11} // btf_parse_module
	readsBase    = version{6, 11} // btf_parse_base: the section .BTF.base
	checksSize   = version{6, 4}  // the size of .gnu.linkonce.this_module
	checksProtos = version{6, 4}  // btf_check_kfunc_protos; Linux 6.1 doesn't have it
	checksKfuncs = version{7, 2}  // btf_check_kfunc_name
	addsDrops    = version{5, 18} // CONFIG_MODULE_ALLOW_BTF_MISMATCH
	saysDrops    = version{6, 3}  // dropsText; before, both values of the option give the same texts
	readsLayout  = version{7, 1}  // btf_parse_layout_sec
)

// The versions below follow from the dates of the commits, as libbpf's copy of
// include/uapi/linux/btf.h has them, and of the kernel's releases. What Linux 7.2 accepts was read
// in its kernel/bpf/btf.c.
//
// Type tags had to come first since Linux 5.19, when btf_check_type_tags was added. The commit
// 39799c63578e of 16 June 2026, which is in 7.2, made it btf_check_modifier_chain_length, without
// that rule. Linux 5.17 and 5.18 know type tags, and may not have the rule.

// kinds says in which version a kind was added (NR_BTF_KINDS).
var kinds = map[btf.Kind]version{
	btf.KindFloat:    {5, 13},
	btf.KindDeclTag:  {5, 16},
	btf.KindTypeTag:  {5, 17},
	btf.KindEnum64:   {6, 0},
	btf.KindLocParam: {7, 4},
	btf.KindLocProto: {7, 4},
	btf.KindLocsec:   {7, 4},
}

// forms says in which version a form of a record was added, by the kernel's check_meta functions.
var forms = []struct {
	since version
	what  string
	has   func(b *btf.Blob, t *btf.Type) bool
}{
	{version{6, 0}, "it is an enum with the kind flag (signed values)",
		func(_ *btf.Blob, t *btf.Type) bool { return t.Kind.IsEnum() && t.KFlag }},
	{version{6, 15}, "it is a tag with the kind flag (any attribute)", func(_ *btf.Blob,
		t *btf.Type) bool {
		return (t.Kind == btf.KindDeclTag || t.Kind == btf.KindTypeTag) && t.KFlag
	}},
	{version{7, 2}, "it has more than 65535 elements",
		func(_ *btf.Blob, t *btf.Type) bool { return t.Vlen > t.Kind.MaxVlen() }},
	{version{6, 1}, "its name has more than 127 bytes",
		func(b *btf.Blob, t *btf.Type) bool { return len(b.TypeName(t)) > 127 }},
	{version{7, 2}, "it leads to a type tag, which must come first",
		func(b *btf.Blob, t *btf.Type) bool {
			if !t.Kind.IsModifier() || t.Kind == btf.KindTypeTag {
				return false
			}
			to, _ := b.ByID(t.SizeOrType)
			return to != nil && to.Kind == btf.KindTypeTag
		}},
}

// unknown returns what in a module's BTF is newer than the kernel, or "".
// Rule: loading: what older kernels don't know in BTF. Source: kernel btf_check_meta of each
// version.
func (v version) unknown(b *btf.Blob) string {
	if h := b.Header; v.before(readsLayout) {
		switch {
		case h.LayoutLen > 0:
			return fmt.Sprintf("its header has a layout section, which Linux %v doesn't know (%v does)",
				v, readsLayout)
		case h.StrOff != h.TypeLen:
			return fmt.Sprintf("its strings come before its types; Linux %v rejects that", v)
		}
	}
	for i := range b.Types {
		t := &b.Types[i]
		id := b.StartID + uint32(i)
		if since := kinds[t.Kind]; v.before(since) {
			return fmt.Sprintf("[%d] %s is of a kind that Linux %v doesn't know (%v does)", id,
				b.KindName(t), v, since)
		}
		for _, f := range forms {
			if v.before(f.since) && f.has(b, t) {
				return fmt.Sprintf("[%d] %s: %s; Linux %v rejects that (%v doesn't)", id, b.KindName(t),
					f.what, v, f.since)
			}
		}
	}
	return ""
}
