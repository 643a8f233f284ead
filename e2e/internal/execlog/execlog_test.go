package execlog

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// log makes a log of entries, each a message.
func log(t testing.TB, entries ...[]byte) []byte {
	t.Helper()
	var plain []byte
	for _, e := range entries {
		plain = protowire.AppendBytes(plain, e)
	}
	var out bytes.Buffer
	z, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func text(m []byte, n protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(m, n, protowire.BytesType), s)
}

func number(m []byte, n protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(m, n, protowire.VarintType), v)
}

func sample(t testing.TB) []byte {
	var s []byte
	s = text(s, 1, "btfgen")
	s = text(s, 1, "object")
	s = text(s, 7, "//lib:string")
	s = text(s, 8, "BtfGen")
	s = text(s, 11, "disk cache hit")
	s = number(s, 12, 1)
	s = number(s, 13, 1)
	spawn := protowire.AppendBytes(protowire.AppendTag(number(nil, 1, 5), 7, protowire.BytesType), s)
	file := protowire.AppendBytes(protowire.AppendTag(number(nil, 1, 4), 3, protowire.BytesType),
		text(nil, 1, "a.c"))
	return log(t, file, spawn)
}

func TestRead(t *testing.T) {
	got, err := Read(bytes.NewReader(sample(t)))
	if err != nil {
		t.Fatal(err)
	}
	want := []Spawn{{Label: "//lib:string", Mnemonic: "BtfGen", Runner: "disk cache hit",
		CacheHit: true, Args: []string{"btfgen", "object"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, bad := range map[string][]byte{
		"not zstd":  []byte("hello, this is no log"),
		"cut":       sample(t)[:20],
		"cut field": log(t, []byte{0x3a, 0x7f, 1}),
	} {
		if _, err := Read(bytes.NewReader(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(sample(f))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) { Read(bytes.NewReader(data)) })
}
