package parallel

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
)

// TestPanic: a panic in any thread becomes a panic in the caller, after the other threads have
// ended.
func TestPanic(t *testing.T) {
	for _, jobs := range []int{1, 2, 8} {
		var running atomic.Int64
		func() {
			defer func() {
				r := recover()
				if running.Load() != 0 || !strings.Contains(fmt.Sprint(r), "part 17") {
					t.Errorf("-j%d: recovered %v, %d threads run", jobs, r, running.Load())
				}
				if p, ok := r.(*Panic); ok && !strings.Contains(p.Place, "parallel.TestPanic") {
					t.Errorf("-j%d: the place is %s", jobs, p.Place)
				}
			}()
			Do(jobs, 100, func(part int) {
				running.Add(1)
				defer running.Add(-1)
				if part == 17 {
					panic("part 17")
				}
			})
		}()
	}
}

// TestEach: each part is done and counted once; a panic becomes the error of its part only.
func TestEach(t *testing.T) {
	for _, jobs := range []int{1, 3, 200} {
		var done [100]atomic.Int64
		var most atomic.Int64
		names := make([]string, len(done))
		for i := range names {
			names[i] = fmt.Sprintf("m%d.ko", i)
		}
		errs := Each(jobs, names, func(part int) error {
			done[part].Add(1)
			switch part {
			case 17:
				panic("planted")
			case 18:
				return fmt.Errorf("%s: broken", names[part])
			}
			return nil
		}, func(n, all int) {
			if all != len(done) || n < 1 || n > all {
				t.Errorf("%d of %d", n, all)
			}
			if n == all {
				most.Add(1)
			}
		})
		for part := range done {
			if n := done[part].Load(); n != 1 {
				t.Errorf("-j%d: part %d was done %d times", jobs, part, n)
			}
			want := map[int]string{17: "m17.ko: internal error: planted (at ",
				18: "m18.ko: broken"}[part]
			if err := errs[part]; (err == nil) != (want == "") ||
				err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("-j%d: part %d: error %v, want %q", jobs, part, err, want)
			}
		}
		if most.Load() != 1 {
			t.Errorf("-j%d: all done %d times", jobs, most.Load())
		}
	}
}
