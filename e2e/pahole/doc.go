// Package pahole makes calls of kernels' builds, by our pahole and by that of dwarves, and compares
// what comes out.
package pahole
