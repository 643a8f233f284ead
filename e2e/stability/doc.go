// Package stability tests what build caches rely on: an edit that changes no type changes no byte
// of the BTF object, so all actions that read it are cache hits; and the final BTF depends only on
// the set of objects.
package stability
