// Package inputs compares builds of one kernel with different forms of debugging information: gcc
// -g, -g -gsplit-dwarf, and -gbtf. It compares the BTF made from these builds, and their costs.
//
//	e2e/inputs/run
//
// The BTF from -gsplit-dwarf must be identical to that from -g. For -gbtf, every difference is
// printed with its reason; a difference without a reason fails the test.
package inputs
