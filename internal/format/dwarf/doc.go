// Package dwarf reads DWARF 2 to 5 as flat records, for one purpose: types, functions and variables
// at the speed at which memory can be read.
//
// There is no tree. Data lists the units of a file. A Reader holds the bytes of one unit and
// decodes the debugging information entry (DIE) at an offset into a caller-owned DIE, with only the
// attributes that the conversion to BTF uses. Abbreviation tables are compiled once a unit: where
// all forms have a fixed size (nearly everywhere), an entry is a few loads at known distances.
//
// Offsets of DIEs are relative to the first byte of their unit's header, as those of DW_FORM_ref4.
//
// Source: DWARF Debugging Information Format, versions 4 and 5; section numbers in comments are
// version 5's.
package dwarf
