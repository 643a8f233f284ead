package main

import (
	"strings"
	"testing"
	"time"

	"github.com/rules-btf/rules_btf/internal/support/must"
)

// TestQuiet: a machine is quiet if all that other processes and the hypervisor take is at most 5%.
func TestQuiet(t *testing.T) {
	before := must.Get(parseLoad([]byte("cpu  1000 100 500 90000 70 20 30 40 0 0\ncpu0 1 2 3\n")))(t)
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
