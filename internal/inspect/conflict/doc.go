// Package conflict reports the names that have several definitions in a set of inputs: which inputs
// hold which definition, and how the definitions differ.
//
// It links the inputs and reports the names that occur several times in the linked BTF. So if two
// definitions become equal when forward declarations are resolved, they are not a conflict.
//
// Some definitions differ only because they refer to another name that has several definitions.
// Such definitions are reported with that other name.
package conflict
