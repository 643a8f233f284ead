package object

import (
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/btf"
)

// MergeFiles reads files, as ReadFile does, and merges them, as Merge does, with so many threads.
// Of several errors, that of the first file is returned. progress is called, from any thread, with
// the numbers of files done and of all.
func MergeFiles(files []string, base *btf.Blob, jobs int, progress func(done, all int)) (*Object,
	error) {
	read := make([]fileRead, len(files))
	mergers := make([]*Merger, max(1, min(jobs, len(files))))
	var next, done atomic.Int64
	var wg sync.WaitGroup
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
				read[i] = a.addFile(m, files[i], base)
				if read[i].err != nil {
					next.Store(int64(len(files))) // those before it are being read
				}
				progress(int(done.Add(1)), len(files))
			}
		})
	}
	wg.Wait()
	all := mergers[0]
	for i, path := range files {
		if read[i].err != nil {
			return nil, read[i].err
		}
		if err := all.agree(path, read[i].says); err != nil {
			return nil, err
		}
	}
	for _, m := range mergers[1:] {
		if _, err := all.place("merged files", &Object{Graph: m.g, Units: m.set.units}); err != nil {
			return nil, err
		}
	}
	return all.Object(), nil
}

// fileRead is what was learnt of a file.
type fileRead struct {
	says claims
	err  error
}

// addFile adds the file at path to the shapes and units of m.
func (a *absorber) addFile(m *Merger, path string, base *btf.Blob) (r fileRead) {
	a.g = m.g
	says, ok, err := a.absorb(path)
	if ok || err != nil {
		return fileRead{says, err}
	}
	o, err := ReadFile(path, base)
	if err == nil {
		r.says = o.claims()
		_, err = m.place(path, o)
	}
	r.err = err
	return r
}
