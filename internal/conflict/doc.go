// Package conflict reports the names that have several definitions in a set of inputs: which inputs
// hold which definition, and how the definitions differ.
//
// The definitions are those of the link's result, so that a conflict is what the link takes for
// one: two definitions that mean the same once forward declarations are resolved are one, and each
// conflict listed here is a name that occurs several times in the linked BTF.
//
// A definition that differs from another only because it leads to a name with several definitions
// is no conflict of its own right: it is listed with the name that it differs because of.
package conflict
