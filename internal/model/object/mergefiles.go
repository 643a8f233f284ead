package object

import (
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// MergeFiles reads files, as ReadFile does, and merges them, as Merge does, with so many threads.
// Of several errors, that of the first file is returned. progress is called, from any thread, with
// the numbers of files done and of all.
func MergeFiles(files []string, base *btf.Blob, jobs int, progress func(done, all int)) (*Object,
	error) {
	says, errs := make([]claims, len(files)), make([]error, len(files))
	mergers := make([]*Merger, max(1, min(jobs, len(files))))
	var next, done atomic.Int64
	var wg parallel.Group
	for i := range mergers {
		m := NewMerger()
		mergers[i] = m
		wg.Go(func() {
			a := absorber{set: m.set}
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if says[i], errs[i] = a.addFile(m, files[i], base); errs[i] != nil {
					next.Store(int64(len(files))) // those before it are being read
				}
				progress(int(done.Add(1)), len(files))
			}
		})
	}
	wg.Wait()
	all := mergers[0]
	for i, path := range files {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if err := all.agree(path, says[i]); err != nil {
			return nil, err
		}
	}
	for _, m := range mergers[1:] {
		if _, err := all.place("merged files", &Object{Graph: m.set.g, Units: m.set.units}); err != nil {
			return nil, err
		}
	}
	return all.Object(), nil
}

// addFile adds the file at path to the shapes and units of m, and returns what it says of itself.
func (a *absorber) addFile(m *Merger, path string, base *btf.Blob) (claims, error) {
	if says, ok, err := a.absorb(path); ok || err != nil {
		return says, err
	}
	o, err := ReadFile(path, base)
	if err != nil {
		return claims{}, err
	}
	_, err = m.place(path, o)
	return o.claims(), err
}
