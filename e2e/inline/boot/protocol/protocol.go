// Package protocol has what a test and the program probe in a virtual machine exchange.
package protocol

// SitesFile is the file in which the program finds its Plan, as JSON.
const SitesFile = "/sites.json"

// EventsFile is the file in which the program finds what "probe events" writes to dynamic_events.
const EventsFile = "/events"

// Words is how many words a Result has at most.
const Words = 8

// Plan is what the program does.
type Plan struct {
	Sites   []Site
	Numbers []int64 // what to write to the module's parameter "run", one after the other
}

// Site is a site in a function of the module.
type Site struct {
	Symbol    string
	Offset    uint64     // from the symbol
	Locations []Location // of the parameters
}

// Location is the sum of a register and an offset, or the memory there.
type Location struct {
	Known    bool
	Register int16 // an offset in struct pt_regs
	Offset   int32
	Size     int32 // of the parameter, if it is in memory; else 0
}

// Result is what the program found at a site after it wrote a number.
type Result struct {
	Site   int
	Number int64
	Pairs  string        // what the parameter "pairs" says
	Values [Words]uint64 // how often the site was reached, and then the parameters
	Error  string
}
