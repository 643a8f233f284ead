package split

import (
	std "debug/dwarf"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/elf"
	"github.com/rules-btf/rules_btf/internal/parallel"
)

// Options say how a file is split.
type Options struct {
	Shards int // how many, at least 1
	Jobs   int // threads, at least 1; the result doesn't depend on it
	// Excluded are DW_LANG codes of units that are left out, where no other unit refers to them.
	Excluded map[uint64]bool
	// Progress, when set, is called now and then with the number of units done and of all. It must
	// be safe to call from several threads.
	Progress func(done, all int)
}

// Counts are of a file that was split.
type Counts struct {
	Units int // that were copied
	Bytes int // of all shards
}

// Split splits the ELF files: one, or the members of an archive. It calls write with each shard, a
// number from 0 on and the ELF file, from several threads and in any order.
func Split(inputs []elf.Input, opt Options, write func(shard int, file []byte) error) (Counts,
	error) {
	p, err := makePlan(inputs, &opt)
	if p != nil {
		defer p.close()
	}
	if err != nil {
		return Counts{}, err
	}
	copiers := sync.Pool{New: func() any { return new(copier) }}
	errs := make([]error, opt.Shards)
	var done, failed, size atomic.Int64
	parallel.Do(opt.Jobs, opt.Shards, func(i int) {
		if failed.Load() > 0 {
			return
		}
		c := copiers.Get().(*copier)
		defer copiers.Put(c)
		c.shard = &shard{like: p.like}
		err := c.units(p, p.shards[i], func() {
			if n := done.Add(1); opt.Progress != nil {
				opt.Progress(int(n), len(p.units))
			}
		})
		var file []byte
		if err == nil {
			file, err = c.shard.bytes()
		}
		if err == nil {
			size.Add(int64(len(file)))
			err = write(i, file)
		}
		if errs[i] = err; err != nil {
			failed.Store(1)
		}
	})
	for _, err := range errs {
		if err != nil {
			return Counts{}, err
		}
	}
	return Counts{len(p.units), int(size.Load())}, nil
}

// units copies the units of a shard, and what they need.
func (c *copier) units(p *plan, list []listed, done func()) error {
	c.src, c.merged = nil, p.merged
	size, units, orphans := uint64(0), 0, 0
	for _, u := range list {
		if size += u.size; u.orphan {
			orphans++
		} else {
			units++
		}
	}
	c.info = make([]byte, 0, size*5/8) // nearly all files need less
	for _, u := range list {
		if err := u.src.open(); err != nil {
			return err
		}
		h := u.src.unitAt(u.unitKey)
		err := c.unit(u.src, h, u.own)
		u.src.close()
		if err != nil {
			return err
		}
		done()
	}
	if orphans > 0 && units == 1 {
		c.emptyUnit(p.like.AddrSize)
	}
	return c.copyParts()
}

// emptyUnit adds a partial unit of DWARF 4 without entries, which is no unit for the conversion.
// But where there is only one compilation unit, the conversion gives it the type units of the file,
// for nothing refers to those of a shard; with this one it sees that there were several.
func (c *copier) emptyUnit(addrSize int) {
	c.abbrevs.begin(uint32(std.TagPartialUnit), false)
	code := c.abbrevs.end()
	unit := appendUint(nil, c.like.Order, 4, 2)
	unit = appendUint(unit, c.like.Order, 0, 4) // of the abbreviations
	unit = append(unit, byte(addrSize))
	for ; code >= 0x80; code >>= 7 {
		unit = append(unit, byte(code)|0x80)
	}
	unit = append(unit, byte(code))
	c.info = appendUint(c.info, c.like.Order, uint64(len(unit)), 4)
	c.info = append(c.info, unit...)
}
