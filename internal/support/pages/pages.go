// Package pages allocates tables such that filling them in random order causes fewer page faults.
package pages

import "unsafe"

const pageSize = 4096 // on most machines; on others, Make writes to each page several times

// Make is make([]T, n), for a table that will be filled at random places. It writes to each page.
//
// The system gives a page to a process when the process first uses the page. If that use is a
// write, there is one page fault. But a look-up in a table is a read. For a read, the system maps a
// page of zeros that all processes share, so the first write to the page is a second page fault.
// This fault takes longer, because the system must interrupt the processors that run other threads
// of the process, whose TLBs may still have the shared page.
func Make[T any](n int) []T {
	table := make([]T, n)
	var zero T
	for i := 0; i < n; i += max(1, pageSize/int(max(1, unsafe.Sizeof(zero)))) {
		table[i] = zero
	}
	return table
}
