// Package pages allocates tables that are filled in random order.
package pages

import "unsafe"

const pageSize = 4096 // on most machines; on others, Make writes to each page several times

// Make is make([]T, n), for a table that will be filled at random places. It writes to each page.
//
// The system gives a page to a process when the process first uses the page. If that use is a
// write, there is one page fault. But a look-up in a table is a read, and for a read, the system
// maps a page of zeros that all processes share. The first write to the page is then a second
// fault. It takes longer, because the system must interrupt the processors that run other threads
// of the process: they may remember the address of the shared page.
func Make[T any](n int) []T {
	table := make([]T, n)
	var zero T
	for i := 0; i < n; i += max(1, pageSize/int(max(1, unsafe.Sizeof(zero)))) {
		table[i] = zero
	}
	return table
}
