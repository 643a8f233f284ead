// Package pahole runs the pahole commands that kernel builds run, once with our pahole and once
// with dwarves' pahole, and compares the results.
package pahole
