package pipeline

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/format/debugfile"
	"github.com/rules-btf/rules_btf/internal/format/elf"
	"github.com/rules-btf/rules_btf/internal/format/elfwrite"
	"github.com/rules-btf/rules_btf/internal/format/filetest"
	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestLimitHeap: the limit depends on the size of .debug_info. If more memory than that is in use,
// the limit rises.
func TestLimitHeap(t *testing.T) {
	f := must.Get(elf.Parse("large", filetest.ELF(t, elfwrite.Section{Name: ".debug_info",
		Data: make([]byte, 40e6)})))(t)
	defer unlimitHeap()
	limit := func() int64 { return debug.SetMemoryLimit(-1) }
	t.Setenv("GOGC", "100")
	limitHeap(f)
	if got := limit(); got != math.MaxInt64 {
		t.Errorf("with GOGC, the limit is %d", got)
	}
	t.Setenv("GOGC", "")
	limitHeap(f)
	if got := limit(); got != 222e6 {
		t.Errorf("the limit is %d, want 222000000", got)
	}
	live := make([]byte, 300e6) // which is never touched
	for range 100 {             // until the finalizer has run
		runtime.GC()
		if limit() > 300e6 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := limit(); got < 300e6 || got > 500e6 {
		t.Errorf("with 300 MB in use, the limit is %d", got)
	}
	runtime.KeepAlive(live)
	for range 100 {
		runtime.GC()
		if limit() == 222e6 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("at the end, the limit is %d", limit())
}

// TestInlinedLimitsHeap: a process that only finds the sites of one file limits its heap.
func TestInlinedLimitsHeap(t *testing.T) {
	data := filetest.ELF(t, elfwrite.Section{Name: ".debug_info", Data: make([]byte, 20e6)})
	path := filepath.Join(t.TempDir(), "in.o")
	err := os.WriteFile(path, data, 0o600)
	must.OK(t, err)
	defer unlimitHeap()
	t.Setenv("GOGC", "")
	noBase := errors.New("no base")
	how := How{Files: new(debugfile.Search), Alone: true}
	_, err = Inlined(path, &how, func() error { return noBase })
	if err != noBase {
		t.Fatal(err)
	}
	if got := debug.SetMemoryLimit(-1); got != 221e6 {
		t.Errorf("the limit is %d, want 221000000", got)
	}
}

func unlimitHeap() {
	heapLimit.least.Store(math.MaxInt64)
	adjustLimit()
}
