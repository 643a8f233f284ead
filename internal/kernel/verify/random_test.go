package verify_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/kernel/verify"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// randomBlob makes n types with random references between them, including loops, deep chains and
// wrong kinds. Kinds without references are rare, so that chains are long.
func randomBlob(t testing.TB, rnd *rand.Rand, n uint32) []byte {
	b := btf.NewBuilder(native, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)
	any := func() uint32 { return rnd.Uint32N(n + 1) }
	// Most references are to near neighbours, which makes long chains.
	near := func() uint32 {
		if rnd.IntN(4) == 0 {
			return any()
		}
		return min(n, b.NextID()+rnd.Uint32N(4)-min(b.NextID()-1, 1))
	}
	for b.NextID() <= n {
		name := fmt.Sprintf("t%d", b.NextID())
		switch rnd.IntN(16) {
		case 0:
			b.Int(name, 4, 0, []uint32{0, 0, 0, 7}[rnd.IntN(4)])
		case 1, 2, 3:
			b.Ref(btf.KindPtr, "", near())
		case 4, 5:
			b.Ref(btf.KindConst, "", near())
		case 6, 7:
			b.Ref(btf.KindTypedef, name, near())
		case 8, 9:
			b.Array(near(), 1, []uint32{0, 1, 2, 1 << 20, 1 << 31}[rnd.IntN(5)])
		case 10, 11, 12:
			b.Composite(btf.KindStruct, name, 1<<16, rnd.IntN(2) == 0,
				btf.Member{NameOff: b.Name("a"), Type: near()}, btf.Member{NameOff: b.Name("b"), Type: near(),
					Offset: 1 << 12})
		case 13:
			b.FuncProto(near(), btf.Param{NameOff: b.Name("x"), Type: near()},
				btf.Param{NameOff: b.Name("y"), Type: near()})
		case 14:
			b.Fwd(name, false)
		case 15:
			switch v := b.NextID(); rnd.IntN(4) {
			case 0:
				b.Var(name, near(), 0)
				b.Datasec(".data", 1<<16, btf.Secinfo{Type: v, Size: 1 << 16})
			case 1:
				b.Func(name, near(), 0)
			case 2:
				b.DeclTag("tag", near(), btf.DeclTagWhole)
			default:
				b.Enum(btf.KindEnum, name, 4, false, btf.Enumerator{NameOff: b.Name(name + "V")})
			}
		}
	}
	data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
	return data
}

func TestRandomGraphs(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	tried, refused := 0, 0
	for range 20000 {
		data := randomBlob(t, rnd, 2+rnd.Uint32N(12))
		tried++
		if agree(t, data, fmt.Sprintf("graph %d (%d bytes)", tried, len(data))) {
			refused++
		}
		if t.Failed() {
			dump(t, data)
			return
		}
	}
	t.Logf("%d graphs, %d refused by both", tried, refused)
	if refused == 0 || refused == tried {
		t.Error("all or none of the graphs are refused: they prove nothing")
	}
}

// TestDepth checks that Check has the same limits as the kernel, for chains of all lengths close to
// the limits, with ascending and descending ids.
func TestDepth(t *testing.T) {
	add := map[string]func(b *btf.Builder, to uint32){
		"ptr":     func(b *btf.Builder, to uint32) { b.Ref(btf.KindPtr, "", to) },
		"typedef": func(b *btf.Builder, to uint32) { b.Ref(btf.KindTypedef, "t", to) },
		"array":   func(b *btf.Builder, to uint32) { b.Array(to, 1, 1) },
		"struct": func(b *btf.Builder, to uint32) {
			b.Composite(btf.KindStruct, "s", 4, false, btf.Member{NameOff: b.Name("m"), Type: to})
		},
	}
	for name, f := range add {
		for n := uint32(28); n < 70; n++ {
			for _, forward := range []bool{true, false} {
				b := btf.NewBuilder(native, nil, nil)
				b.Int("int", 4, 0, 0)
				for i := range n {
					switch {
					case !forward:
						f(b, b.NextID()-1)
					case i == n-1:
						f(b, 1)
					default:
						f(b, b.NextID()+1)
					}
				}
				data := must.Get(b.Encode(btf.EncodeOptions{}))(t)
				agree(t, data, fmt.Sprintf("%d × %s, forward %v", n, name, forward))
			}
		}
	}
}

// TestKernelBTFMutated changes single words of the running kernel's BTF.
func TestKernelBTFMutated(t *testing.T) {
	data, err := os.ReadFile(runningKernel)
	if err != nil {
		t.Skip("SKIPPED: no BTF of a running kernel:", err)
	}
	b, err := btf.Parse(data, nil)
	must.OK(t, err)
	rnd := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 15 {
		off := int(b.Header.HdrLen) + 4*int(rnd.Uint32N(b.Header.TypeLen/4))
		old := native.Uint32(data[off:])
		native.PutUint32(data[off:], []uint32{0, old + 1, old ^ 1<<rnd.UintN(32),
			rnd.Uint32N(b.EndID())}[rnd.IntN(4)])
		if agree(t, data, fmt.Sprintf("word at %d: %#x -> %#x", off, old, native.Uint32(data[off:]))) {
			refused++
		}
		native.PutUint32(data[off:], old)
	}
	t.Logf("15 mutants, %d refused by both", refused)
}

func dump(t *testing.T, data []byte) {
	b, err := btf.Parse(data, nil)
	if err != nil {
		return
	}
	for i := range b.Types {
		x := &b.Types[i]
		line := fmt.Sprintf("[%d] %v %s -> %d vlen %d kflag %v", b.StartID+uint32(i), x.Kind,
			b.TypeName(x), x.SizeOrType, x.Vlen, x.KFlag)
		switch {
		case x.Kind == btf.KindArray:
			line += fmt.Sprint(b.ArrayOf(x))
		case x.Kind.IsComposite():
			line += fmt.Sprint(b.MembersOf(x))
		case x.Kind == btf.KindFuncProto:
			line += fmt.Sprint(b.ParamsOf(x))
		}
		t.Log(line)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(sample(f))
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(randomBlob(f, rnd, 10))
		data := must.Get(randomSites(rnd, 10).Encode(btf.EncodeOptions{}))(f)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		blobs, err := btf.ParseAll(data, nil)
		if err != nil {
			return
		}
		var base *btf.Blob
		for _, b := range blobs {
			found := verify.Check(b, verify.Options{Sorted: true})
			for _, v := range found {
				if v.String() == "" {
					t.Error("an empty violation")
				}
			}
			base = b
		}
		// Check the same bytes again, now as split BTF that is based on the last blob.
		if b, err := btf.Parse(data, base); err == nil {
			verify.Check(b, verify.Options{})
		}
	})
}
