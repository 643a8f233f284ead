package base

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/model/types"
	"github.com/rules-btf/rules_btf/internal/support/mapped"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// small makes split BTF, based on base, with one of almost everything that BTF can hold.
func small(base *btf.Blob, order binary.ByteOrder, prefix string) *btf.Blob {
	b := btf.NewBuilder(order, base, nil)
	i := b.Int(prefix+"int", 4, 1, 32)
	char := b.Int(prefix+"char", 1, 1, 8)
	s := b.NextID() + 3
	list := b.Fwd(prefix+"list", false)
	p := b.Ref(btf.KindPtr, "", list)
	pc := b.Ref(btf.KindPtr, "", char)
	b.Composite(btf.KindStruct, prefix+"s", 24, false, btf.Member{NameOff: b.Name("next"), Type: p},
		btf.Member{NameOff: b.Name("name"), Type: pc, Offset: 64},
		btf.Member{NameOff: b.Name("n"), Type: i, Offset: 128})
	b.Composite(btf.KindStruct, prefix+"s", 4, false, btf.Member{NameOff: b.Name("n"), Type: i})
	ps := b.Ref(btf.KindPtr, "", s)
	b.Ref(btf.KindTypedef, prefix+"s_t", ps)
	proto := b.FuncProto(i, btf.Param{NameOff: b.Name("s"), Type: ps})
	f := b.Func(prefix+"f", proto, 1)
	b.DeclTag("kfunc", f, 0xffffffff)
	b.DeclTag("tag", s, 1)
	b.Enum(btf.KindEnum, prefix+"e", 4, false)
	v := b.Var(prefix+"v", ps, 1)
	b.Datasec(prefix+".data", 8, btf.Secinfo{Type: v, Size: 8})
	at := b.LocProto(b.LocParam(8, btf.LocReg, 5))
	b.Locsec("inline.text", btf.Site{Func: f, LocProto: at, Offset: 16})
	return b.Finish()
}

func parsed(t testing.TB, b *btf.Blob) *Chain {
	t.Helper()
	c := must.Get(Parse(b))(t)
	return c
}

// TestIndexAgreesWithGraph makes every possible look-up in an index, and compares the results with
// those of type reference.
func TestIndexAgreesWithGraph(t *testing.T) {
	one := small(nil, binary.LittleEndian, "")
	two := small(one, binary.LittleEndian, "mod_")
	cases := map[string]*btf.Blob{
		"one":        one,
		"chain":      small(two, binary.LittleEndian, ""),
		"big endian": small(nil, binary.BigEndian, ""),
		"empty":      btf.NewBuilder(binary.LittleEndian, nil, nil).Finish(),
	}
	if b, err := btf.ReadOne("/sys/kernel/btf/vmlinux", nil); err == nil {
		cases["running kernel"] = b
	}
	for name, b := range cases {
		t.Run(name, func(t *testing.T) {
			compare(t, parsed(t, b), newReference(t, b))
		})
	}
}

func compare(t *testing.T, got Base, want *reference) {
	t.Helper()
	errs := 0
	check := func(what string, got, want any) {
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w && errs < 10 {
			t.Errorf("%s: %s, want %s", what, g, w)
			errs++
		}
	}
	gotID, gotStr := got.Ends()
	wantID, wantStr := want.Ends()
	check("ends", []uint32{gotID, gotStr}, []uint32{wantID, wantStr})
	check("layers", got.Layers(), want.Layers())
	shapes := append(want.g.Unpinned(), types.Hash{}, types.Hash{A: 1, B: 2}, types.Hash{A: 1<<64 - 1})
	for _, h := range shapes {
		check("shape", slices.Collect(got.All(h)), slices.Collect(want.All(h)))
		check("first", got.Find(h), want.Find(h))
	}
	for i := range want.g.Nodes {
		n := &want.g.Nodes[i]
		if tag := types.TagOf(n.Kind); tag != 0 || n.Kind == types.KindStub {
			if n.Kind == types.KindStub {
				tag = types.Tag(n.Aux)
			}
			stub := types.HashStub(tag, want.g.Strs.Hash(n.Name))
			d, f, c := got.Tag(stub)
			wd, wf, wc := want.Tag(stub)
			check("tag "+want.g.Name(n), []any{d, f, c}, []any{wd, wf, wc})
		}
	}
	for id := uint32(1); id < wantID; id++ {
		check(fmt.Sprint("declares ", id), got.Declares(id), want.Declares(id))
		switch tt, _ := want.blob.ByID(id); tt.Kind {
		case btf.KindFunc, btf.KindVar, btf.KindDatasec, btf.KindDeclTag: // never looked up
		default:
			check(fmt.Sprint("references of ", id), got.Refs(id, nil), want.Refs(id, nil))
		}
	}
	for s := range want.strings {
		check("string "+s, got.String([]byte(s)), want.String([]byte(s)))
	}
	check("no such string", got.String([]byte("no such string")), 0)
	for d := range want.declTags {
		n := want.g.Node(want.nodes[d.target])
		of := n.Kind != types.KindFunc && n.Kind != types.KindVar
		check("declaration tag", got.HasDeclTag([]byte(d.value), d.target, d.component, d.flag), of)
		check("no such declaration tag", got.HasDeclTag([]byte("none"), d.target, d.component, d.flag),
			false)
	}
}

// files writes BTF and its index, and returns their paths.
func files(t *testing.T, dir, name string, b *btf.Blob, bases ...string) (blob, index string) {
	t.Helper()
	data := must.Get(btf.Encode(b, btf.EncodeOptions{}))(t)
	blob, index = filepath.Join(dir, name+".btf"), filepath.Join(dir, name+".btfbase")
	write(t, blob, data)
	built := must.Get(Index(blob, bases))(t)
	write(t, index, built)
	return blob, index
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	must.OK(t, os.WriteFile(path, data, 0o666))
}

// TestOpen opens each chain as BTF and as indices. Both must give the same results, or there must
// be an error.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	one := small(nil, binary.LittleEndian, "")
	oneBTF, oneIndex := files(t, dir, "one", one)
	two := small(one, binary.LittleEndian, "mod_")
	twoBTF, twoIndex := files(t, dir, "two", two, oneBTF)
	other := small(nil, binary.LittleEndian, "other")
	otherBTF, otherIndex := files(t, dir, "other", other)
	_, bigIndex := files(t, dir, "big", small(nil, binary.BigEndian, ""))
	const another = "btfbase: this index was made with a different base"
	for _, c := range []struct {
		name  string
		paths []string
		want  *btf.Blob
		err   string
	}{
		{"BTF", []string{oneBTF}, one, ""},
		{"index", []string{oneIndex}, one, ""},
		{"BTF on BTF", []string{oneBTF, twoBTF}, two, ""},
		{"index on index", []string{oneIndex, twoIndex}, two, ""},
		{"index on BTF", []string{oneBTF, twoIndex}, two, ""},
		{"BTF on index", []string{oneIndex, twoBTF}, nil, "two.btf: this BTF is based on the index"},
		{"index of split BTF alone", []string{twoIndex}, nil,
			"two.btfbase: this is an index of split BTF; pass its base"},
		{"index on another index", []string{otherIndex, twoIndex}, nil, "two." + another},
		{"index on other BTF", []string{otherBTF, twoIndex}, nil, "two." + another},
		{"index twice", []string{oneIndex, oneIndex}, nil, "one." + another},
		{"another byte order", []string{bigIndex, twoIndex}, nil, "two." + another},
		{"no file", []string{filepath.Join(dir, "none")}, nil, "no such file"},
		{"a directory", []string{dir}, nil, "directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Open(c.paths)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %s", err, c.err)
				}
				return
			}
			must.OK(t, err)
			defer f.Close()
			compare(t, f.Base, newReference(t, c.want))
			if f.Last.EndID() != c.want.EndID() || f.Last.EndStr() != c.want.EndStr() {
				t.Errorf("ends %d, %d", f.Last.EndID(), f.Last.EndStr())
			}
			indexed := strings.HasSuffix(c.paths[len(c.paths)-1], ".btfbase")
			if _, err := f.Whole("this"); (err != nil) != indexed {
				t.Errorf("Whole: %v", err)
			}
		})
	}
	if f, err := Open(nil); err != nil || f.Base != nil || f.Last != nil {
		t.Errorf("no bases: %v, %v", f, err)
	}
	if _, err := Index(twoBTF, []string{oneIndex}); err == nil ||
		!strings.Contains(err.Error(), "this is an index") {
		t.Errorf("an index of BTF on an index: %v", err)
	}
}

// TestTruncatedIndex: an index that was truncated while it was mapped is known after Close. It is
// unmapped only once: if something else is mapped at that address later, a second Close leaves it
// alone.
func TestTruncatedIndex(t *testing.T) {
	dir := t.TempDir()
	_, index := files(t, dir, "one", small(nil, binary.LittleEndian, ""))
	data := must.Get(os.ReadFile(index))(t)
	f := must.Get(Open([]string{index}))(t)
	must.OK(t, os.Truncate(index, int64(len(data)-1)))
	f.Close()
	if err := mapped.Check(); err == nil ||
		!strings.HasPrefix(err.Error(), index+": truncated while it was read") {
		t.Errorf("%v", err)
	}
	mapped.Reset()
	write(t, index, data)
	again := must.Get(Open([]string{index}))(t)
	defer again.Close()
	f.Close()
	if again.Base.Find(types.Hash{}) != 0 {
		t.Error("it finds a type that the index doesn't have")
	}
}

// TestDamagedIndex flips each byte of an index, and truncates it at each length.
func TestDamagedIndex(t *testing.T) {
	dir := t.TempDir()
	_, path := files(t, dir, "one", small(nil, binary.LittleEndian, ""))
	data, err := os.ReadFile(path)
	must.OK(t, err)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x40
		if _, err := parseIndex(damaged); err == nil {
			t.Errorf("byte %d of %d is wrong: no error", i, len(data))
		}
		if _, err := parseIndex(data[:i]); err == nil {
			t.Errorf("cut off after %d bytes: no error", i)
		}
	}
	if _, err := parseIndex(append(bytes.Clone(data), 0)); err == nil {
		t.Error("a byte too many: no error")
	}
	newer := bytes.Clone(data)
	newer[headerAt] = Version + 1
	setChecksum(newer)
	_, err = parseIndex(newer)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint("the index has version ", Version+1)) {
		t.Errorf("another version: %v", err)
	}
}

// FuzzIndex makes look-ups in an index with a valid checksum and arbitrary content.
func FuzzIndex(f *testing.F) {
	for _, b := range []*btf.Blob{small(nil, binary.LittleEndian, ""),
		btf.NewBuilder(binary.BigEndian, nil, nil).Finish()} {
		built := must.Get(build(object.Chain(b), 0, true))(f)
		f.Add(built[0])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < headerAt {
			return
		}
		setChecksum(data)
		c := &Chain{}
		if c.push(data) != nil {
			return
		}
		for i := range uint64(300) {
			h := types.Hash{A: i << 56, B: i}
			c.Find(h)
			c.Tag(h)
			c.Refs(uint32(i), nil)
			c.Declares(uint32(i))
			c.String(binary.LittleEndian.AppendUint64(nil, i))
		}
		c.HasDeclTag(nil, 1, 0, false)
	})
}

// BenchmarkOpen opens the index of the running kernel's BTF.
func BenchmarkOpen(b *testing.B) {
	data, err := Index("/sys/kernel/btf/vmlinux", nil)
	if err != nil {
		b.Skip(err)
	}
	path := filepath.Join(b.TempDir(), "vmlinux.btfbase")
	must.OK(b, os.WriteFile(path, data, 0o666))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		f := must.Get(Open([]string{path}))(b)
		f.Close()
	}
}
