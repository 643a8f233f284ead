// Package must is for tests: it ends a test if a step that isn't tested fails.
//
//	must.OK(t, os.WriteFile(path, data, 0o666))
//	data := must.Get(os.ReadFile(path))(t)
//
// The second form exists because Go passes several results to a call only if they are all of its
// arguments.
package must

import "testing"

// OK ends the test if err isn't nil.
func OK(t testing.TB, err error) {
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
}

// Get returns a function that returns v, or ends the test if err isn't nil.
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v
	}
}

// Get2 is Get for two values.
func Get2[T, U any](v T, u U, err error) func(testing.TB) (T, U) {
	return func(t testing.TB) (T, U) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return v, u
	}
}
