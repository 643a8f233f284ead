// Package stability tests what build caches rely on. An edit that changes no type must change no
// byte of the BTF object, so that all actions that read this object are cache hits. The linked BTF
// must depend only on the set of BTF objects.
package stability
