// Package inputs compares builds of one kernel with different debugging information: gcc's options
// are -g, -g -gsplit-dwarf, or -gbtf. It compares the BTF made from these builds, and their costs.
//
//	e2e/inputs/run
//
// The BTF made with -gsplit-dwarf must be identical to that made with -g. For -gbtf, the test
// prints every difference and its reason, and fails if a difference has no known reason.
package inputs
