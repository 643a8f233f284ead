// Package conflict reports the names that have several definitions in a set of inputs: which inputs
// hold which definition, and how the definitions differ.
//
// It links the inputs and reports the names that occur several times in the linked BTF. So two
// definitions that become equal when forward declarations are resolved are no conflict.
//
// Some definitions differ only because they refer to a name that has several definitions. They are
// reported with that name.
package conflict
