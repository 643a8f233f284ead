package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/rules-btf/rules_btf/e2e/internal/measure"
)

func (b *bench) heading(text string) { fmt.Fprintf(b.out, "\n### %s\n\n", text) }

// table prints comparisons under a heading, the runs of pahole before ours.
func (b *bench) table(text string, rows []contest) {
	b.heading(text)
	tableHead(b.out)
	for _, c := range rows {
		tableRow(b.out, c.pahole, c.pahole)
		tableRow(b.out, c.pahole, c.ours)
	}
}

func tableHead(w io.Writer) {
	fmt.Fprintln(w, "| command | wall: median | least | most | user + sys | peak memory "+
		"| wall, relative | memory, relative |")
	fmt.Fprintln(w, "|---|--:|--:|--:|--:|--:|--:|--:|")
}

// tableRow prints a series, relative to another.
func tableRow(w io.Writer, reference, s measure.Series) {
	median, least, most := s.Wall()
	fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %d MB | %s | %s |\n", s.Command.Name,
		rounded(median), rounded(least), rounded(most), rounded(s.CPU()), s.Peak()>>20,
		timeRatio(reference, s), memoryRatio(reference, s))
}

// timeRatio writes the median wall time of s as a part of that of reference.
func timeRatio(reference, s measure.Series) string {
	theirs, _, _ := reference.Wall()
	ours, _, _ := s.Wall()
	return fraction(theirs.Seconds() / ours.Seconds())
}

// memoryRatio writes the peak memory of s as a part of that of reference.
func memoryRatio(reference, s measure.Series) string {
	return fraction(float64(reference.Peak()) / float64(s.Peak()))
}

// fraction writes 1/v: as "1/7.0", or as "1.2" if v is less than 1.
func fraction(v float64) string {
	if v >= 0.995 {
		return strings.TrimSuffix(fmt.Sprintf("1/%.1f", v), "/1.0")
	}
	return fmt.Sprintf("%.1f", 1/v)
}
