// Package inputs compares builds of one kernel whose debugging information comes in several forms:
// gcc -g, -g -gsplit-dwarf, and -gbtf. It compares what is made of them, and what all of them cost.
//
//	e2e/inputs/run
//
// What -gsplit-dwarf gives has to be the same to the byte. Of what -gbtf gives every difference is
// printed with its reason, and one without a reason fails the test.
package inputs
