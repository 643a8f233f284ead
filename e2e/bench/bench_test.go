package main

import (
	"math"
	"strings"
	"testing"
	"time"
)

// TestQuiet: a machine is quiet if all that other processes and the hypervisor take is at most 5%.
func TestQuiet(t *testing.T) {
	before, err := parseLoad([]byte("cpu  1000 100 500 90000 70 20 30 40 0 0\ncpu0 1 2 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if before.busy != 16500*time.Millisecond || before.stolen != 400*time.Millisecond {
		t.Errorf("%+v", before)
	}
	for _, c := range []struct {
		busy, stolen, own time.Duration
		quiet             bool
	}{
		{0, 0, 0, true},
		{20 * time.Second, 0, 20 * time.Second, true},
		{15 * time.Second, 0, 14 * time.Second, true},
		{15 * time.Second, 0, 13900 * time.Millisecond, false},
		{14 * time.Second, 1100 * time.Millisecond, 14 * time.Second, false},
		{14500 * time.Millisecond, 600 * time.Millisecond, 14 * time.Second, false},
		{13 * time.Second, 0, 14 * time.Second, true}, // ticks are coarse
	} {
		after := load{at: before.at.Add(10 * time.Second), busy: before.busy + c.busy,
			stolen: before.stolen + c.stolen, own: c.own}
		if text := after.verdict(before, 2); strings.Contains(text, "was quiet") != c.quiet {
			t.Errorf("%+v: %s", c, text)
		}
	}
	for _, text := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8", "cpu a b c d e f g h"} {
		if _, err := parseLoad([]byte(text)); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// TestThreads compares computed times with times of a schedule that was made by hand.
func TestThreads(t *testing.T) {
	elf := []phase{{Name: "facts", CPU: 2, Critical: 2}, {Name: "convert", CPU: 70, Critical: 6},
		{Name: "link", CPU: 20, Critical: 4}}
	for _, c := range []struct {
		what    string
		all     float64
		phases  []phase
		threads float64
		want    float64
	}{
		{"elf", 100, elf, 1, 100},
		// 8 outside of the phases; convert: 6, and then 64 + 2 (facts); link: 4, and then 16
		{"elf", 100, elf, 2, 8 + 6 + 33 + 4 + 8},
		{"elf", 100, elf, 1e12, 8 + 6 + 4},
		{"slow facts", 100, []phase{{Name: "facts", CPU: 20, Critical: 20}, elf[1]}, 1e12, 10 + 20},
		{"link", 30, []phase{{Name: "facts", CPU: 3, Critical: 3}, {Name: "read", CPU: 7, Critical: 7},
			elf[2]}, 4, 7 + 3.0/4 + 4 + 4},
		{"merge", 10, []phase{{Name: "read", CPU: 8, Critical: 1}}, 7, 2 + 1 + 1},
	} {
		w := workOf(c.all, c.phases)
		if got := w.with(c.threads); math.Abs(got-c.want) > 1e-6 {
			t.Errorf("%s with %g threads: %g, want %g", c.what, c.threads, got, c.want)
		}
	}
	if w := workOf(100, elf); math.Abs(w.alone()-18) > 1e-6 {
		t.Errorf("one thread works alone for %g, want 18", w.alone())
	}
}
