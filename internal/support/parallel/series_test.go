package parallel

import (
	"testing"
	"time"
)

// TestCritical checks the critical path of work on one thread: of the parts of a series, only the
// longest counts, or all work that excludes other parts if that is more. Series may be nested.
func TestCritical(t *testing.T) {
	now, real := time.Duration(0), clock
	clock = func() time.Duration { return now }
	Measure(true)
	defer func() {
		clock = real
		Measure(false)
	}()
	work := func(d int) { now += time.Duration(d) }
	parts := func(list ...int) func() {
		return func() { Do(1, len(list), func(i int) { work(list[i]) }) }
	}
	alone := func(list ...int) func() {
		return func() {
			var a Alone
			Do(1, len(list), func(i int) {
				work(list[i])
				a.Do(parts(list[i], list[i]))
			})
		}
	}
	for _, c := range []struct {
		what          string
		do            func()
		cpu, critical time.Duration
	}{
		{"undivided work", func() { work(7) }, 7, 7},
		{"one part", parts(5), 5, 5},
		{"no parts", parts(), 0, 0},
		{"three parts", parts(3, 9, 4), 16, 9},
		{"two steps", func() { parts(1, 2)(); work(10); parts(4, 3)() }, 20, 16},
		{"parts that are divided", func() {
			All(1, parts(3, 3, 3), parts(2, 2), func() { work(4) })
		}, 17, 4},
		{"parts that exclude each other", alone(1, 2, 3), 18, 6},
		{"parts that hardly exclude each other", func() { All(1, alone(1, 1), parts(8)) }, 14, 8},
		{"a series that ends early", func() {
			s := Begin()
			work(2)
			s.Next()
			work(3)
			s.Next()
			work(1)
			s.End()
		}, 6, 4},
	} {
		cpu, critical := Clocks()
		c.do()
		cpu2, critical2 := Clocks()
		if cpu2-cpu != c.cpu || critical2-critical != c.critical {
			t.Errorf("%s: %d, critical %d; want %d, %d", c.what, cpu2-cpu, critical2-critical, c.cpu,
				c.critical)
		}
	}
}

// TestNotMeasured: without Measure, the clocks stand still.
func TestNotMeasured(t *testing.T) {
	_, before := Clocks()
	Do(1, 1000, func(int) {})
	if cpu, critical := Clocks(); cpu != 0 || critical != before {
		t.Errorf("processor time %v, critical %v after %v", cpu, critical, before)
	}
}
