package random

// checkDWZ: what dwz moves into partial units and replaces by references stays the same.
func checkDWZ(b *Build) error {
	if _, err := run(b.Dir, "dwz", "-o", "dwz", "linked"); err != nil {
		return nil // dwz can't read all that compilers write
	}
	return b.expectAfterDWZ("dwz")
}

// checkSupplement: the same for what dwz moves into a supplementary file.
func checkSupplement(b *Build) error {
	for _, form := range []string{"", "--dwarf-5"} {
		script := "cp linked dwz && cp linked other && dwz " + form + " -m supplement dwz other"
		if _, err := run(b.Dir, "sh", "-ec", script); err != nil {
			return nil
		}
		if err := b.expectAfterDWZ("dwz " + form + " -m"); err != nil {
			return err
		}
	}
	return nil
}

// expectAfterDWZ compares the BTF of the file dwz with that of the file before.
func (b *Build) expectAfterDWZ(how string) error {
	for _, j := range []string{"-j1", "-j8"} {
		if err := b.expectOneShot("btfgen elf "+j+" after "+how, func() ([]byte, error) {
			return b.make(func(out string) error { return b.btfgen("elf", j, "-o", out, "dwz") })
		}); err != nil {
			return err
		}
	}
	return b.expectOneShot("btfdedup link of the object after "+how, func() ([]byte, error) {
		object, err := b.BTFObject("dwz")
		if err != nil {
			return nil, err
		}
		return b.LinkBTF(1, []string{object})
	})
}
