package elf

// relocOp is what a relocation type does, whatever the machine calls the type.
type relocOp uint8

const (
	opUnknown relocOp = iota
	opNone            // nothing, or a hint for linker relaxation
	opAbs64
	opAbs32  // fits as signed or as unsigned number
	opAbs32U // zero-extends
	opAbs32S // sign-extends
	opAbs16
	opAbs8
	opRel64
	opRel32
	opRel31
	opRel16
	opRel8
	opTLS64 // offset in the block of thread-local variables
	opTLS32
	opTLS64Bias // the same minus tlsBias
	opTLS32Bias
	opSize64
	opSize32
	opSet6
	opSet8
	opSet16
	opSet32
	opAdd6
	opAdd8
	opAdd16
	opAdd24
	opAdd32
	opAdd64
	opSub6
	opSub8
	opSub16
	opSub24
	opSub32
	opSub64
	opSetULEB
	opAddULEB
	opSubULEB
)

// calc is the formula of a relocation, in the terms of the gABI: S is the symbol's value, A the
// addend, P the address of the field; V is the field's old value.
type calc uint8

const (
	calcAbs     calc = iota // S+A
	calcRel                 // S+A-P
	calcTLS                 // S-block+A
	calcTLSBias             // S-block+A-tlsBias
	calcSize                // size of S+A
	calcSet                 // S+A, cut to the field
	calcAdd                 // V+S+A, cut to the field
	calcSub                 // V-S-A, cut to the field
	calcULEB                // one half of a difference in a ULEB128
)

// check says which values fit a field.
type check uint8

const (
	cut      check = iota // all: higher bits are dropped
	either                // signed and unsigned numbers of its width
	signed                // signed numbers of its width
	unsigned              // unsigned numbers of its width
)

// fits reports whether v fits a field of a number of bits.
func (c check) fits(v uint64, bits uint8) bool {
	if bits == 64 {
		return true
	}
	s := signExtend(v, bits) == v
	u := v>>bits == 0
	switch c {
	case either:
		return s || u
	case signed:
		return s
	case unsigned:
		return u
	}
	return true
}

// howto says how to apply a relocOp.
type howto struct {
	calc  calc
	size  uint8 // bytes of the field
	bits  uint8 // bits of it that change
	check check
}

var howtos = [...]howto{
	opAbs64:     {calcAbs, 8, 64, cut},
	opAbs32:     {calcAbs, 4, 32, either},
	opAbs32U:    {calcAbs, 4, 32, unsigned},
	opAbs32S:    {calcAbs, 4, 32, signed},
	opAbs16:     {calcAbs, 2, 16, either},
	opAbs8:      {calcAbs, 1, 8, either},
	opRel64:     {calcRel, 8, 64, cut},
	opRel32:     {calcRel, 4, 32, signed},
	opRel31:     {calcRel, 4, 31, signed},
	opRel16:     {calcRel, 2, 16, signed},
	opRel8:      {calcRel, 1, 8, signed},
	opTLS64:     {calcTLS, 8, 64, cut},
	opTLS32:     {calcTLS, 4, 32, either},
	opTLS64Bias: {calcTLSBias, 8, 64, cut},
	opTLS32Bias: {calcTLSBias, 4, 32, either},
	opSize64:    {calcSize, 8, 64, cut},
	opSize32:    {calcSize, 4, 32, either},
	opSet6:      {calcSet, 1, 6, cut},
	opSet8:      {calcSet, 1, 8, cut},
	opSet16:     {calcSet, 2, 16, cut},
	opSet32:     {calcSet, 4, 32, cut},
	opAdd6:      {calcAdd, 1, 6, cut},
	opAdd8:      {calcAdd, 1, 8, cut},
	opAdd16:     {calcAdd, 2, 16, cut},
	opAdd24:     {calcAdd, 3, 24, cut},
	opAdd32:     {calcAdd, 4, 32, cut},
	opAdd64:     {calcAdd, 8, 64, cut},
	opSub6:      {calcSub, 1, 6, cut},
	opSub8:      {calcSub, 1, 8, cut},
	opSub16:     {calcSub, 2, 16, cut},
	opSub24:     {calcSub, 3, 24, cut},
	opSub32:     {calcSub, 4, 32, cut},
	opSub64:     {calcSub, 8, 64, cut},
	opSetULEB:   {calcULEB, 1, 7, cut},
	opAddULEB:   {calcULEB, 1, 7, cut},
	opSubULEB:   {calcULEB, 1, 7, cut},
}
