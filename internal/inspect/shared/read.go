package shared

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/rules-btf/rules_btf/internal/format/btf"
	"github.com/rules-btf/rules_btf/internal/link/relocate"
	"github.com/rules-btf/rules_btf/internal/support/parallel"
)

// Read reads the BTF of modules that are based on base: raw BTF, or the section .BTF of ELF files.
// It uses so many threads; progress is called as files are read. Errors name the file, the first
// one of those that are wrong.
func Read(paths []string, base *btf.Blob, jobs int, progress func(done, all int)) (*Set, error) {
	s := newSet(base)
	var mu sync.Mutex
	var done atomic.Int64
	errs := make([]error, len(paths))
	parallel.Do(jobs, len(paths), func(i int) {
		errs[i] = s.readFile(paths[i], &mu)
		progress(int(done.Add(1)), len(paths))
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Set) readFile(path string, mu *sync.Mutex) error {
	b, err := relocate.ReadOne(path, s.base)
	if err != nil {
		return err
	}
	m, err := readModule(b)
	if err == nil {
		mu.Lock()
		defer mu.Unlock()
		err = s.add(m)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
