package harness

import "testing"

// failure is a panic with an error, which ends the function that Caught calls.
type failure struct{ err error }

// Check ends the function that Caught calls, if there is an error.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Get is Check for a call with a result.
func Get[T any](v T, err error) T {
	Check(err)
	return v
}

// Caught calls f and returns its error, or that of Check.
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

// Do calls f, and fails the test with the error of Check.
func Do(tb testing.TB, f func()) {
	tb.Helper()
	if err := Caught(func() error { f(); return nil }); err != nil {
		tb.Fatal(err)
	}
}
