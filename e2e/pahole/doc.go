// Package pahole repeats the calls of pahole that kernel builds make, once with our pahole and once
// with that of dwarves, and compares the results.
package pahole
