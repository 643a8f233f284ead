// Package conflict reports the names that have several definitions in a set of inputs: which inputs
// hold which definition, and how the definitions differ.
//
// Find links the inputs and reports the names that occur several times in the linked BTF. So two
// definitions that become equal when forward declarations are resolved don't conflict.
//
// Some definitions differ only because they refer to another name that has several definitions.
// Such definitions are listed under that other name.
package conflict
