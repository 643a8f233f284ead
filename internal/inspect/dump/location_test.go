package dump_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/inspect/dump"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestSites prints what the kernel's selftest of bpftool makes (mk_loc_btf in
// tools/testing/selftests/bpf/prog_tests/bpftool_btf_dump.c); the first 11 types must be printed
// as that test expects. The selftest has no signed constant, register pair or unknown parameter.
func TestSites(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		b := btf.NewBuilder(order, nil, nil)
		b.Int("int", 4, btf.IntSigned, 0)
		var params []btf.Param
		for _, name := range []string{"arg1", "arg2", "arg3", "arg4", "arg5"} {
			params = append(params, btf.Param{NameOff: b.Name(name), Type: 1})
		}
		b.FuncProto(1, params...)
		b.Func("foo", 2, btf.LinkageStatic)
		b.LocParam(4, btf.LocReg, 1)
		b.LocParam(8, btf.LocReg|btf.LocDeref|btf.LocOffset, 2, 0x10)
		b.LocParam(8, btf.LocReg|btf.LocOffset|btf.LocSigned, btf.LocFrameBase, ^uint32(0x10)+1)
		b.LocParam(8, btf.LocAddr|btf.LocConst, 0x9abcdef0, 0x12345678)
		b.LocParam(8, btf.LocConst, 0xfeedface, 0xdeadbeef)
		b.LocParam(8, btf.LocReg|btf.LocDeref|btf.LocOffset|btf.LocSigned, btf.LocFrameBase,
			^uint32(0x20)+1)
		b.LocProto(4, 5, 6, 7, 8, 9)
		b.Locsec("inline.text", btf.Site{Func: 3, LocProto: 10, Offset: 64})
		b.LocParam(1, btf.LocConst|btf.LocSigned, 0xff)
		b.LocParam(8, btf.LocConst|btf.LocSigned, 0xfffffff0, 0xffffffff)
		b.LocParam(16, btf.LocReg, 1, 2)
		b.LocParam(4, btf.LocReg|btf.LocDeref, 3)
		b.LocParam(4, btf.LocReg|btf.LocOffset|btf.LocSigned, 3, 1, 0xffffffff)
		b.LocParam(4, 0x40, 1, 2)
		b.LocParam(4, btf.LocConst)
		b.LocProto(0, 3, 99)
		b.Locsec("inline.init.text", btf.Site{Func: 99, LocProto: 98})
		var got strings.Builder
		must.OK(t, dump.Raw(&got, b.Finish()))
		if got.String() != sitesText {
			t.Errorf("%v: printed\n%s", order, got.String())
		}
		got.Reset()
		if err := dump.Some(&got, b.Blob, []uint32{11}); err != nil || !strings.HasPrefix(got.String(),
			"[11] LOCSEC 'inline.text' vlen=1\n\tname='foo' func_type_id=3") {
			t.Error(err, got.String())
		}
	}
}

const sitesText = `[1] INT 'int' size=4 bits_offset=0 nr_bits=32 encoding=SIGNED
[2] FUNC_PROTO '(anon)' ret_type_id=1 vlen=5
	'arg1' type_id=1
	'arg2' type_id=1
	'arg3' type_id=1
	'arg4' type_id=1
	'arg5' type_id=1
[3] FUNC 'foo' type_id=2 linkage=static
[4] LOC_PARAM '(anon)' size=4 flags=0x8 vlen=1 values='reg1'
[5] LOC_PARAM '(anon)' size=8 flags=0x38 vlen=2 values='*(reg2 + 0x10)'
[6] LOC_PARAM '(anon)' size=8 flags=0x29 vlen=2 values='fbreg - 0x10'
[7] LOC_PARAM '(anon)' size=8 flags=0x6 vlen=2 values='0x123456789abcdef0 (addr)'
[8] LOC_PARAM '(anon)' size=8 flags=0x2 vlen=2 values='0xdeadbeeffeedface'
[9] LOC_PARAM '(anon)' size=8 flags=0x39 vlen=2 values='*(fbreg - 0x20)'
[10] LOC_PROTO '(anon)' vlen=6
	type_id=4 value='reg1'
	type_id=5 value='*(reg2 + 0x10)'
	type_id=6 value='fbreg - 0x10'
	type_id=7 value='0x123456789abcdef0 (addr)'
	type_id=8 value='0xdeadbeeffeedface'
	type_id=9 value='*(fbreg - 0x20)'
[11] LOCSEC 'inline.text' vlen=1
	name='foo' func_type_id=3 loc_proto_type_id=10 offset=64
[12] LOC_PARAM '(anon)' size=1 flags=0x3 vlen=1 values='-1'
[13] LOC_PARAM '(anon)' size=8 flags=0x3 vlen=2 values='-16'
[14] LOC_PARAM '(anon)' size=16 flags=0x8 vlen=2 values='reg1, reg2'
[15] LOC_PARAM '(anon)' size=4 flags=0x18 vlen=1 values='*(reg3)'
[16] LOC_PARAM '(anon)' size=4 flags=0x29 vlen=3 values='reg3 - 0xffffffff'
[17] LOC_PARAM '(anon)' size=4 flags=0x40 vlen=2 values='0x1 0x2'
[18] LOC_PARAM '(anon)' size=4 flags=0x2 vlen=0 values=''
[19] LOC_PROTO '(anon)' vlen=3
	type_id=0
	type_id=3
	type_id=99
[20] LOCSEC 'inline.init.text' vlen=1
	name='(invalid)' func_type_id=99 loc_proto_type_id=98 offset=0
`
