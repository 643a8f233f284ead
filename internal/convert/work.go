package convert

import (
	"cmp"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/convert/inlines"
	"github.com/rules-btf/rules_btf/internal/format/dwarf"
	"github.com/rules-btf/rules_btf/internal/model/features"
	"github.com/rules-btf/rules_btf/internal/model/object"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// work is the conversion of all or some units of a file by several threads.
type work struct {
	input
	units    []*dwarf.Unit // the units to convert
	single   bool          // the file has one compilation unit
	chunks   []int         // for each chunk of units, the index of the unit after it
	next     atomic.Int64  // index in chunks
	done     atomic.Int64  // how many units have been converted or left out
	threads  []*converter
	warnings []string // messages about type units
}

// failure is the error of one unit. If several units fail, the error of the first is reported.
type failure struct {
	at  int // index in work.units
	err error
}

// convertUnits converts the units of a file within the file's budget of work. How much work several
// threads do depends on their timing, because a thread may repeat what another has done. So if the
// threads don't stay far below the budget, one thread converts the units again, and only that run
// decides whether the file exceeds the budget.
// Rule: damaged or hostile DWARF: how much work and memory it may cost. Independent of threads.
func convertUnits(in input) (*work, error) {
	try := func(opt Options, budget dwarf.Budget) (*work, error) {
		in.opt = &opt
		in.d.Restart(budget)
		w := newWork(in)
		err := w.run()
		if err == nil {
			err = w.orphans()
		}
		return w, err
	}
	w := newWork(in)
	if w.jobs() == 1 && !w.shares() || in.each != nil {
		return try(*in.opt, dwarf.Whole)
	}
	opt := *in.opt
	w, err := try(opt, dwarf.Part)
	if !dwarf.IsSpent(err) {
		return w, err
	}
	alone := opt
	alone.Jobs, alone.Shared = 1, nil
	if w, err = try(alone, dwarf.Whole); err == nil && opt.Shared != nil {
		return try(opt, dwarf.Unlimited)
	}
	return w, err
}

func newWork(in input) *work {
	d := in.d
	in.symbols, in.pins = &symbols{file: d.File}, newPins(d)
	w := &work{input: in}
	for i := range d.Units {
		if d.Units[i].Kind == dwarf.UnitCompile {
			w.units = append(w.units, &d.Units[i])
		}
	}
	w.single = len(w.units) == 1
	w.grouped = findGroups(w.units)
	if in.chosen != nil {
		all := w.units
		w.units = nil
		for _, i := range in.chosen {
			w.units = append(w.units, all[i])
		}
	}
	return w
}

func (w *work) run() error {
	size := 0
	for _, h := range w.units {
		size += int(h.Len)
	}
	jobs := w.jobs()
	start := w.addThreads(jobs, size)
	w.chunks = chunks(w.units, uint64(size/jobs/chunksPerThread))
	if jobs > 1 {
		var wg parallel.Group
		if w.opt.Want != OnlySites {
			wg.Go(func() { w.symbols.load() })
		}
		for i := range jobs {
			wg.Go(func() { start(i) })
		}
		wg.Wait()
	} else {
		start(0)
	}
	first := failure{at: len(w.units)}
	for _, c := range w.threads {
		if c.out.failed.err != nil && c.out.failed.at < first.at {
			first = c.out.failed
		}
	}
	if w.opt.Want == OnlySites { // only some files need the symbols
		return first.err
	}
	return cmp.Or(w.symbols.load(), first.err)
}

func (w *work) jobs() int {
	if w.shares() {
		return 1
	}
	return max(1, min(cmp.Or(w.opt.Jobs, runtime.GOMAXPROCS(0)), len(w.units)))
}

// addThreads makes room for the converters of the threads. Each thread must call start, which makes
// its converter and runs it. size is the size of all units in bytes.
func (w *work) addThreads(jobs, size int) (start func(i int)) {
	w.threads = make([]*converter, jobs)
	create := func() *converter { return w.opt.Shared.converter(w.input) }
	switch {
	case w.shares():
	case w.each != nil: // it may read the graph at any time
		create = func() *converter { return newConverter(w.input, newStore(w.d, w.opt, size/jobs)) }
	default:
		s := newStore(w.d, w.opt, size)
		create = func() *converter { return newConverter(w.input, s) }
	}
	return func(i int) {
		c := create()
		c.single = w.single
		w.threads[i] = c
		w.thread(c)
	}
}

func (w *work) shares() bool {
	return w.opt.Shared != nil && w.d.File.Relocatable() && w.each == nil
}

// thread converts chunks of units with c until none is left or a unit fails.
func (w *work) thread(c *converter) {
	for k := int(w.next.Add(1)) - 1; k < len(w.chunks); k = int(w.next.Add(1)) - 1 {
		i := 0
		if k > 0 {
			i = w.chunks[k-1]
		}
		for ; i < w.chunks[k]; i++ {
			if err := w.convert(c, i); err != nil {
				c.out.failed = failure{i, err}
				w.next.Store(int64(len(w.chunks)))
				return
			}
		}
	}
}

// convert converts unit i with c.
func (w *work) convert(c *converter, i int) error {
	c.repeats = repeatMost
	switch {
	case c.store.shared:
	case w.single:
		c.repeats = repeatNone
	case len(w.threads) == 1 && len(c.store.g.Nodes) == 1:
		c.repeats = repeatLater
	}
	err := c.convert(w.units[i], i)
	if err == nil && w.each != nil {
		err = c.pass(i)
	}
	if w.opt.Features.Has(features.SkipUnencodable) && isUnencodable(err) {
		c.out.skipped = append(c.out.skipped, failure{i, err})
		c.forgetOthers()
		err = nil
	}
	if err != nil {
		return err
	}
	if c.out.undropped += w.units[i].Len; c.out.undropped >= dropEvery {
		c.out.undropped = 0
		w.d.DropPages()
	}
	if done := w.done.Add(1); w.opt.Progress != nil {
		w.opt.Progress(int(done), len(w.units))
	}
	return nil
}

// pass calls input.each with the unit that was just converted, unless that unit was left out.
func (c *converter) pass(number int) error {
	if n := len(c.out.units); n > 0 && c.out.units[n-1].number == number {
		one := *c.store.obj
		one.Units = []object.Unit{c.out.units[n-1].Unit}
		return c.in.each(number, &one)
	}
	return nil
}

// skipped returns the units that were left out, in the order of the file.
func (w *work) skipped() []failure {
	return w.collect(func(c *converter) []failure { return c.out.skipped })
}

// collect joins the lists of all threads, in the order of the file.
func (w *work) collect(of func(c *converter) []failure) (all []failure) {
	for _, c := range w.threads {
		all = append(all, of(c)...)
	}
	slices.SortFunc(all, func(a, b failure) int { return a.at - b.at })
	return all
}

// orphans adds the content of the type units to which nothing refers (see orphans.go).
func (w *work) orphans() error {
	if !w.d.HasTypeUnits() || w.single || w.chosen != nil {
		return nil
	}
	var apart []*dwarf.Unit
	for _, s := range w.skipped() {
		apart = append(apart, w.units[s.at])
	}
	c := newConverter(w.input, w.threads[0].store)
	c.restart(w.input, w.threads[0].main.prints.File)
	var err error
	w.warnings, err = c.convertOrphans(w.threads, apart)
	w.threads = append(w.threads, c)
	return err
}

// object returns the object with all units. If it gets its own graph, the sites, which may be nil,
// get the nodes of that graph.
func (w *work) object(sites *inlines.Sites) (*object.Object, error) {
	var all []numberedUnit
	for _, c := range w.threads {
		all = append(all, c.out.units...)
	}
	slices.SortStableFunc(all, func(a, b numberedUnit) int { return a.number - b.number })
	var units []object.Unit
	for _, u := range all {
		units = append(units, u.Unit)
	}
	o := w.threads[0].store.obj
	if c := w.threads[0]; w.shares() {
		o = w.opt.Shared.object(c, units, sites)
		w.opt.Shared.done(c)
		if w.opt.Shared.Joined {
			return o, nil // more units follow
		}
	}
	o.Units = units
	return o, w.checkFinite(o, all)
}

// joinSites returns the sites of all threads. Their units are those of the object.
func (w *work) joinSites() *inlines.Sites {
	s := &inlines.Sites{}
	var numbers []int
	for _, c := range w.threads {
		for _, u := range c.out.units {
			numbers = append(numbers, u.number)
		}
	}
	slices.Sort(numbers)
	for _, c := range w.threads {
		all := &c.sites.all
		for i := range all.Units {
			all.Units[i].Unit, _ = slices.BinarySearch(numbers, all.Units[i].Unit)
		}
		s.Join(all)
	}
	return s
}

// checkFinite refuses a type that contains itself by value.
func (w *work) checkFinite(o *object.Object, units []numberedUnit) error {
	def, unit, err := o.Endless()
	if err != nil || def == 0 {
		return err
	}
	n := o.Graph.Node(def)
	var h *dwarf.Unit // the compilation unit with the type; the last one if the type is in a type unit
	number := units[unit].number
	for i := range w.d.Units {
		if u := &w.d.Units[i]; u.Kind == dwarf.UnitCompile {
			if h = u; number == 0 {
				break
			}
			number--
		}
	}
	var r dwarf.Reader
	if err := r.Load(w.d, h); err != nil {
		return err
	}
	at := r.Root.Off
	for off := r.Root.Next; uint64(off) < h.Len; {
		e := &dwarf.DIE{}
		if err := r.Read(off, e); err != nil {
			return err
		}
		if name, err := r.String(e, dwarf.Name); err == nil && string(name) == o.Graph.Name(n) &&
			dwarf.IsTagged(e.Tag) && !e.Flag(dwarf.Declaration) {
			at = off
			break
		}
		off = e.Next
	}
	return r.Damaged(at, "type %s contains itself by value", o.Graph.Name(n))
}

// hasComplete reports whether the file has a unit that isn't partial, or no units at all.
func (w *work) hasComplete() bool {
	return len(w.d.Units) == 0 || slices.ContainsFunc(w.threads,
		func(c *converter) bool { return c.out.complete })
}
