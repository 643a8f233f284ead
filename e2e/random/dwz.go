package random

import "github.com/rules-btf/rules_btf/e2e/internal/harness"

// checkDWZ checks that BTF stays the same when dwz moves DIEs to partial units.
func checkDWZ(b *Build) error {
	if run(b.Dir, "dwz", "-o", "dwz", "linked") != nil {
		return nil // dwz can't read all DWARF that compilers write
	}
	return b.expectAfterDWZ("dwz")
}

// checkSupplement is like checkDWZ, but with -m, so that dwz moves DIEs to a supplementary file.
func checkSupplement(b *Build) error {
	for _, form := range []string{"", "--dwarf-5"} {
		script := "cp linked dwz && cp linked other && dwz " + form + " -m supplement dwz other"
		if run(b.Dir, "sh", "-ec", script) != nil {
			return nil
		}
		harness.Check(b.expectAfterDWZ("dwz " + form + " -m"))
	}
	return nil
}

// expectAfterDWZ compares the BTF made from the file before and after dwz has changed it.
func (b *Build) expectAfterDWZ(how string) error {
	for _, j := range []string{"-j1", "-j8"} {
		harness.Check(b.expectOneShot("btfgen elf "+j+" after "+how,
			b.make(func(out string) { b.btfgen("elf", j, "-o", out, "dwz") })))
	}
	return b.expectOneShot("btfdedup link of the BTF object after "+how,
		b.LinkBTF(1, b.BTFObject("dwz")))
}
