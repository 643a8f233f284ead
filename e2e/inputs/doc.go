// Package inputs compares builds of one kernel whose debugging information has several forms: gcc
// -g, -g -gsplit-dwarf, and -gbtf. It compares the BTF made from them, and what each form costs.
//
//	e2e/inputs/run
//
// The BTF from -gsplit-dwarf must be identical to that from -g. For -gbtf, every difference is
// printed with its reason, and one without a reason fails the test.
package inputs
