package harness

import (
	"testing"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// failure is the value of the panic with which Check ends the function that Caught calls.
type failure struct{ err error }

// Check ends the function that Caught has called, unless err is nil.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is like Check, but for a call that also returns a value. It returns this value.
func Get[T any](v T, err error) T {
	Check(err)
	return v
}

// Caught calls f and returns the error that f returns or passes to Check.
func Caught(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p.err
		default:
			panic(p)
		}
	}()
	return f()
}

// Do calls f. If f passes an error to Check, the test fails with this error.
func Do(tb testing.TB, f func()) {
	tb.Helper()
	must.OK(tb, Caught(func() error { f(); return nil }))
}
