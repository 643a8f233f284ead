package stats

import (
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// example returns split BTF whose base has an int and the name "x".
func example(t *testing.T) *btf.Blob {
	t.Helper()
	base := btf.NewBuilder(nil, nil, nil)
	base.Int("int", 4, btf.IntSigned, 0)
	base.Name("x")
	b := btf.NewBuilder(nil, base.Finish(), nil)
	member := func(name string, id uint32) btf.Member {
		return btf.Member{NameOff: b.Name(name), Type: id}
	}
	b.Composite(btf.KindStruct, "s", 8, false, member("x", 1), member("own", 3))  // 2
	b.Ref(btf.KindPtr, "", 2)                                                     // 3
	b.Composite(btf.KindUnion, "", 4, false, member("s", 1))                      // 4
	b.FuncProto(0, btf.Param{NameOff: b.Name("arg"), Type: 3})                    // 5
	b.Func("function", 5, btf.LinkageStatic)                                      // 6
	b.Var("v", 1, btf.LinkageGlobal)                                              // 7
	b.Datasec(".data", 64, btf.Secinfo{Type: 7, Size: 4})                         // 8
	b.Enum(btf.KindEnum, "e", 4, false, btf.Enumerator{NameOff: b.Name("VALUE")}) // 9
	b.Name("unused")
	data := must.Get(b.Encode(btf.EncodeOptions{Layout: true}))(t)
	x := must.Get(btf.Parse(data, b.Blob.Base))(t)
	return x
}

// TestText checks the whole report, in which all sizes add up to the size of the BTF.
func TestText(t *testing.T) {
	b := example(t)
	var text strings.Builder
	must.OK(t, Take(b, 2).WriteText(&text))
	const want = `318 bytes: header 32, types 164 (51.6%), layout 80, strings 42 (13.2%)
8 types, ids 2 to 9; 9 strings
The base has 1 type and 7 bytes of strings. 3 of 8 references
lead to types of the base, and 1 of 10 names are strings of the base.
1 variable: 0 per CPU, 1 others

Types by kind:
  KIND        TYPES  ANONYMOUS  ELEMENTS  BYTES  SHARE
  STRUCT          1          0         2     36  11.3%
  UNION           1          1         1     24   7.5%
  DATASEC         1          0         1     24   7.5%
  ENUM            1          0         1     20   6.3%
  FUNC_PROTO      1          1         1     20   6.3%
  VAR             1          0         0     16   5.0%
  PTR             1          1         0     12   3.8%
  FUNC            1          0         0     12   3.8%
`
	if !strings.HasPrefix(text.String(), want) {
		t.Error(text.String())
	}
	for _, part := range []string{
		"  several of these              1      2   0.6%\n", // s: a struct and a member
		"  none                          1      7   2.2%\n", // unused
		"Largest types:\n  TYPE          ID  ELEMENTS  BYTES  SHARE\n" +
			"  STRUCT s       2         2     36  11.3%\n  UNION (anon)   4         1     24   7.5%\n\n",
		"Sections:\n  SECTION  VARIABLES  SIZE  BYTES  SHARE\n  .data            1    64     24   7.5%\n",
	} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no\n%s in\n%s", part, text.String())
		}
	}
}

// TestSums compares the sums of all sizes with the sizes in the blob's header.
func TestSums(t *testing.T) {
	b := example(t)
	r := Take(b, 0)
	types, strings, count := uint64(0), uint64(0), 0
	for _, k := range r.Types.Kinds {
		types += k.Bytes
		count += k.Types
	}
	for _, u := range r.Strings.Users {
		strings += u.Bytes
	}
	if types != uint64(b.Header.TypeLen) || strings != uint64(b.Header.StrLen) ||
		count != len(b.Types) || len(r.Largest) != 5 {
		t.Errorf("%+v, header %+v", r, b.Header)
	}
	if empty := Take(&btf.Blob{StartID: 1}, 0); empty.WriteText(&nothing{}) != nil {
		t.Error("an empty BTF")
	}
}

// TestInline counts the sites of two functions. The LOC_PROTO of one site doesn't exist.
func TestInline(t *testing.T) {
	b := btf.NewBuilder(nil, nil, nil)
	b.Int("int", 4, btf.IntSigned, 0)                                            // 1
	b.FuncProto(0, btf.Param{NameOff: b.Name("a"), Type: 1}, btf.Param{Type: 1}) // 2
	b.Func("f", 2, btf.LinkageStatic)                                            // 3
	b.Func("g", 2, btf.LinkageStatic)                                            // 4
	b.LocParam(8, btf.LocReg, 1)                                                 // 5
	b.LocProto(5, 0)                                                             // 6
	b.Locsec("inline.text", btf.Site{Func: 3, LocProto: 6}, btf.Site{Func: 3, LocProto: 6, Offset: 8},
		btf.Site{Func: 4, LocProto: 99}) // 7
	b.Locsec("inline.init.text", btf.Site{Func: 3, LocProto: b.LocProto(5)})
	r := Take(b.Finish(), 0)
	if *r.Inline != (Inline{Sites: 4, Functions: 2, Parameters: 5, Known: 3}) {
		t.Errorf("%+v", *r.Inline)
	}
	var text strings.Builder
	must.OK(t, r.WriteText(&text))
	for _, want := range []string{
		"no variables\n4 sites of 2 inlined functions; the locations of 3 of 5 parameters are known\n",
		"  LOCSEC          2          0         4     72",
		"  variables and sections",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

type nothing struct{}

func (*nothing) Write(p []byte) (int, error) { return len(p), nil }
