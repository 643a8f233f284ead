package parallel

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/support/mapped"
)

// Group runs goroutines, and waits for all of them. A panic in one of them does not end the
// process. Instead, Wait panics, so the caller of Wait can recover. The zero value is ready.
type Group struct {
	wg   sync.WaitGroup
	mu   sync.Mutex
	fail *Panic
}

// Panic is a panic that was recovered, maybe in another goroutine.
type Panic struct {
	Value any
	Place string // the function and line that panicked
}

// Recovered makes a Panic from r, which is the value that recover returned to the caller.
func Recovered(r any) *Panic {
	if p, ok := r.(*Panic); ok {
		return p
	}
	mapped.Fault(r)
	return &Panic{r, place()}
}

func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// Internal returns the panic as an error message for users.
func (p *Panic) Internal() error {
	return fmt.Errorf("internal error: %v (at %s); please report it with the command line and its input",
		p.Value, p.Place)
}

// Go calls do in a goroutine.
func (g *Group) Go(do func()) {
	g.wg.Go(func() {
		debug.SetPanicOnFault(true) // for files that are truncated while they are mapped
		defer func() {
			if r := recover(); r != nil {
				g.failed(Recovered(r))
			}
		}()
		do()
	})
}

// failed records a panic. The first one is kept.
func (g *Group) failed(p *Panic) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail = cmp.Or(g.fail, p)
}

// Wait waits until all goroutines have returned. If one has panicked, Wait panics with a *Panic.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.fail != nil {
		panic(g.fail)
	}
}

// place returns the function and line that panicked. It must be called in the deferred function
// that recovers.
func place() string {
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
