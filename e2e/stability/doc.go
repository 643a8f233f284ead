// Package stability tests the promise that everything behind an object's BTF is a cache hit: an
// edit that changes no type leaves the BTF object as it was, byte for byte, and the final BTF
// depends on the set of objects alone.
package stability
