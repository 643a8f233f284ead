package parallel

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Group is goroutines that are waited for together. A panic of one of them does not end the
// process: Wait panics in its place, for a caller that recovers. The zero value is ready.
type Group struct {
	wg   sync.WaitGroup
	once sync.Once
	fail *Panic
}

// Panic is the panic of another goroutine.
type Panic struct {
	Value any
	Place string // where it was, as PanicPlace says
}

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// Go calls do in a goroutine.
func (g *Group) Go(do func()) {
	g.wg.Go(func() {
		defer func() {
			if r := recover(); r != nil {
				g.once.Do(func() { g.fail = &Panic{r, PanicPlace()} })
			}
		}()
		do()
	})
}

// Wait waits until all have returned. If some panicked, it panics with the first *Panic.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.fail != nil {
		panic(g.fail)
	}
}

// PanicPlace is the function and line that panicked, seen from the deferred function that recovers.
func PanicPlace() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for inPanic := false; ; {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			inPanic = true
		case inPanic && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s, %s:%d", f.Function, filepath.Base(f.File), f.Line)
		case !more:
			return "an unknown place"
		}
	}
}
