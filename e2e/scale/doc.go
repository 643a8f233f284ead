// Package scale says how long the BTF of a kernel takes on any number of executors, from what
// single actions were measured to cost.
//
// A Kernel lists the object files and modules. A Model has the measured costs. Graph lays out the
// actions as the rules do (rules/private/merge_tree.bzl), Edit says which of them run after an
// edit, and Simulate runs them on executors. All are pure functions: the same numbers give the same
// result. The command e2e/cmd/scale measures, compares with real builds, and reports.
//
// Sizes are in bytes, times in seconds of processor time of one core, or of the simulation's clock.
package scale
