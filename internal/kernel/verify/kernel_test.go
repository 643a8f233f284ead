package verify_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/btfload"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

const runningKernel = "/sys/kernel/btf/vmlinux"

// native is the byte order that the running kernel reads.
var native = binary.LittleEndian

// sample returns a blob with every kind, and with most of the possible references between kinds.
func sample(t testing.TB) []byte {
	b := btf.NewBuilder(native, nil, nil)
	n := b.Name
	i := b.Int("int", 4, btf.IntSigned, 0)
	u8 := b.Int("unsigned char", 1, 0, 0)
	long := b.Int("long", 8, btf.IntSigned, 0)
	narrow := b.Int("narrow", 4, 0, 7)
	b.Int("_Bool", 1, btf.IntBool, 0)
	dbl := b.Float("double", 8)
	e := b.Enum(btf.KindEnum, "color", 4, false, btf.Enumerator{NameOff: n("RED")},
		btf.Enumerator{NameOff: n("BLUE"), Value: 7})
	e64 := b.Enum(btf.KindEnum64, "wide", 8, true, btf.Enumerator{NameOff: n("W"), Value: 1 << 40})
	arr := b.Array(i, i, 4)
	b.Array(arr, i, 3)
	arr0 := b.Array(u8, i, 0)
	fwd := b.Fwd("opaque", false)
	pfwd := b.Ref(btf.KindPtr, "", fwd)
	pvoid := b.Ref(btf.KindPtr, "", 0)
	cvoid := b.Ref(btf.KindConst, "", 0)
	b.Ref(btf.KindPtr, "", cvoid)
	node := b.NextID()
	pnode := node + 1
	b.Composite(btf.KindStruct, "node", 64, false,
		btf.Member{NameOff: n("next"), Type: pnode},
		btf.Member{NameOff: n("value"), Type: i, Offset: 64},
		btf.Member{NameOff: n("color"), Type: e, Offset: 96},
		btf.Member{NameOff: n("rate"), Type: dbl, Offset: 128},
		btf.Member{NameOff: n("wide"), Type: e64, Offset: 192},
		btf.Member{NameOff: n("list"), Type: arr, Offset: 256},
		btf.Member{NameOff: n("bits"), Type: narrow, Offset: 384},
		btf.Member{NameOff: n("tail"), Type: arr0, Offset: 416})
	b.Ref(btf.KindPtr, "", node)
	uni := b.Composite(btf.KindUnion, "", 8, false, btf.Member{NameOff: n("l"), Type: long},
		btf.Member{NameOff: n("p"), Type: pvoid})
	flags := b.Composite(btf.KindStruct, "flags", 24, true,
		btf.Member{NameOff: n("a"), Type: i, Offset: 3 << 24},
		btf.Member{NameOff: n("b"), Type: i, Offset: 5<<24 | 3},
		btf.Member{NameOff: n("c"), Type: e, Offset: 2<<24 | 8},
		btf.Member{NameOff: n("plain"), Type: i, Offset: 32},
		btf.Member{Type: uni, Offset: 64},
		btf.Member{NameOff: n("q"), Type: pfwd, Offset: 128})
	td := b.Ref(btf.KindTypedef, "flags_t", flags)
	ctd := b.Ref(btf.KindConst, "", td)
	vol := b.Ref(btf.KindVolatile, "", i)
	pctd := b.Ref(btf.KindPtr, "", ctd)
	b.Ref(btf.KindRestrict, "", pctd)
	tag := b.Ref(btf.KindTypeTag, "user", node)
	ptag := b.Ref(btf.KindPtr, "", tag)
	b.Composite(btf.KindStruct, "outer", 96, false,
		btf.Member{NameOff: n("f"), Type: ctd},
		btf.Member{NameOff: n("n"), Type: node, Offset: 24 * 8})
	proto := b.FuncProto(i, btf.Param{NameOff: n("n"), Type: ptag},
		btf.Param{NameOff: n("how"), Type: vol})
	vproto := b.FuncProto(0, btf.Param{NameOff: n("fmt"), Type: pvoid}, btf.Param{})
	b.Ref(btf.KindPtr, "", vproto)
	fn := b.Func("do_it", proto, btf.LinkageStatic)
	b.Func("print_it", vproto, btf.LinkageGlobal)
	v := b.Var("counter", vol, btf.LinkageGlobal)
	w := b.Var("table", arr, btf.LinkageStatic)
	b.Datasec(".data..percpu", 32, btf.Secinfo{Type: v, Offset: 0, Size: 4},
		btf.Secinfo{Type: w, Offset: 8, Size: 16})
	b.DeclTag("kfunc", fn, btf.DeclTagWhole)
	b.DeclTag("arg", fn, 1)
	b.DeclTag("field", node, 2)
	b.DeclTag("var", v, btf.DeclTagWhole)
	b.DeclTag("td", td, btf.DeclTagWhole)
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data
}

// judge returns the first violation that Parse and Check report for a blob, or "".
func judge(data []byte) string {
	b, err := btf.Parse(data, nil)
	if err != nil {
		return err.Error()
	}
	// Among the rules of other readers, only the one about tags can apply to the running kernel.
	found := slices.DeleteFunc(verify.Check(b, verify.Options{}), func(v verify.Violation) bool {
		return v.Scope > verify.Load && v.Rule != "tag-order"
	})
	if len(found) == 0 {
		return ""
	}
	slices.SortStableFunc(found,
		func(a, b verify.Violation) int { return int(a.Scope) - int(b.Scope) })
	return found[0].String()
}

// askKernel returns "" if the kernel accepts the BTF, otherwise the end of the kernel's log. It
// skips the test if the kernel doesn't load BTF here.
func askKernel(t testing.TB, data []byte, logSize int) string {
	err := btfload.Load(data, logSize)
	var refused *btfload.RefusedError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refused):
		lines := strings.Split(strings.TrimSpace(refused.Log), "\n")
		return fmt.Sprintf("%v: %s", refused.Errno, strings.Join(lines[max(0, len(lines)-3):], " / "))
	}
	t.Skip("SKIPPED: ", err)
	return ""
}

// stricter reports whether Check intentionally rejects what the kernel accepts:
//   - pointers to and modifiers of a FUNC, which the kernel accepts or rejects depending on the
//     order of ids;
//   - tags after other modifiers, which Linux 7.2 and later accept;
//   - types that contain themselves through a modifier that the kernel resolved for a pointer. (In
//     that case, the kernel also misses the size of arrays: see TestStricterThanTheKernel.)
func stricter(why string) bool {
	return strings.Contains(why, "type-kind: it leads to [") && strings.HasSuffix(why, "a FUNC") ||
		strings.Contains(why, ": tag-order: ") || strings.Contains(why,
		"loop: it contains itself through")
}

// agree fails the test if Check and the kernel disagree about a blob. It returns true if both
// reject the blob.
func agree(t *testing.T, data []byte, what string) bool {
	t.Helper()
	ours := judge(data)
	kernel := askKernel(t, data, 0)
	if (ours == "") == (kernel == "") {
		return ours != ""
	}
	if kernel == "" && stricter(ours) {
		return true
	}
	t.Errorf("%s:\n ours:   %q\n kernel: %q", what, ours, askKernel(t, data, 1<<16))
	return false
}

func TestRunningKernelsOwnBTF(t *testing.T) {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	if agree(t, data, "the kernel's own BTF") {
		t.Fatal("the kernel's own BTF is refused:", judge(data))
	}
}

// TestEveryWordMutated changes every word of a blob in many ways. Check and the kernel must agree
// each time.
func TestEveryWordMutated(t *testing.T) {
	data := sample(t)
	if agree(t, data, "sample") {
		t.Fatal("the sample is refused:", judge(data), askKernel(t, data, 1<<16))
	}
	b := must.Get(btf.Parse(data, nil))(t)
	values := []uint32{0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 31, 32, 33, 64, 127, 128, 129, 255, 1 << 16,
		1 << 20, 1<<24 - 1, 1 << 24, 2 << 24, 33 << 24, 1 << 31, 1<<32 - 1}
	for id := b.StartID; id <= b.EndID()+1; id++ {
		values = append(values, id)
	}
	tried, refused := 0, 0
	typesEnd := int(b.Header.HdrLen + b.Header.TypeLen)
	for off := 0; off < typesEnd && !t.Failed(); off += 4 {
		old := native.Uint32(data[off:])
		news := append([]uint32{old + 1, old - 1, old + 4, old ^ 1<<31, old ^ 1<<16, old ^ 1<<29},
			values...)
		for k := uint32(0); k <= 21; k++ {
			news = append(news, old&^(0x1f<<24)|k<<24)
		}
		for bit := range 32 {
			news = append(news, old^1<<bit)
		}
		for _, v := range news {
			mutant := append([]byte(nil), data...)
			native.PutUint32(mutant[off:], v)
			if off == 4 && v > btf.HeaderLen {
				continue // newer kernels accept longer headers
			}
			tried++
			if agree(t, mutant, fmt.Sprintf("word at %d: %#x -> %#x", off, old, v)) {
				refused++
			}
		}
	}
	t.Logf("%d mutants, %d refused by both", tried, refused)
	if refused == 0 || refused == tried {
		t.Error("all or none of the mutants are refused: they prove nothing")
	}
}

// TestEveryStringByteMutated changes every byte of the strings. Check and the kernel must agree.
func TestEveryStringByteMutated(t *testing.T) {
	data := sample(t)
	b, _ := btf.Parse(data, nil)
	for off := int(b.Header.HdrLen + b.Header.StrOff); off < len(data); off++ {
		for _, v := range []byte{0, '.', '-', '0', ' ', '~', 0x7f, 0x80, 0xa0, 0xbf, 0xc0, 0xd7, 0xe9,
			0xf7, 0xff, '\n', '$'} {
			mutant := append([]byte(nil), data...)
			mutant[off] = v
			agree(t, mutant, fmt.Sprintf("string byte at %d = %#x", off, v))
		}
	}
}

// TestTruncated truncates the blob to every length, with and without adapting the header.
func TestTruncated(t *testing.T) {
	data := sample(t)
	for n := range len(data) {
		agree(t, data[:n], fmt.Sprintf("first %d bytes", n))
	}
	agree(t, append(append([]byte(nil), data...), 0), "one byte more")
}
