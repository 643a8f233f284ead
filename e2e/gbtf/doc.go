// Package gbtf compares two builds of one kernel, the one with gcc -g and the other with gcc -gbtf:
// what the DWARF of the one and the BTF of the other give for vmlinux, and what both cost.
//
//	./bazelw --root-exec go test ./e2e/gbtf -v -timeout 60m -args -dwarf=DIR -btf=DIR
//
// The directories are trees that Kbuild built, with vmlinux.a and vmlinux. In the tree with BTF
// nothing may have replaced the objects' .BTF; vmlinux is read for its symbols alone. Each may hold
// a file build-seconds with how long its build took.
//
// Every difference is printed with its reason. One without a reason fails the test.
package gbtf
