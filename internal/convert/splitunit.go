package convert

// A skeleton unit (-gsplit-dwarf) has only addresses. The rest, its split unit, is in another file,
// which package splitdwarf finds. That file is treated like a relocatable file. It has its own
// strings, so fingerprints cover the content of strings; and values that have a meaning only within
// the file are hashed together with the file's number.

// enter replaces the loaded skeleton unit with its split unit, until the caller calls leave.
func (c *converter) enter() (leave func(), err error) {
	u := c.main
	found, err := c.in.files.Load(&u.r)
	if err != nil {
		return nil, err
	}
	before, file, merged := c.neighbours, u.prints.File, u.prints.Merged
	places := c.reached
	c.neighbours, c.reached = newNeighbours(), reached{}
	u.memo.reset(found.Unit.Len)
	u.prints.Merged = false
	u.prints.Forget(file<<32 | found.Number)
	if c.repeats != repeatNone {
		u.prints.Reset(&u.r)
	}
	c.out.split += found.Unit.Len
	return func() {
		if c.out.undropped += found.Unit.Len; c.out.undropped >= dropEvery {
			c.out.undropped = 0
			found.Data.DropPages()
		}
		c.neighbours, c.reached, u.prints.Merged = before, places, merged
		u.prints.Forget(file)
		u.r.Forget()
		found.Close()
	}, nil
}
