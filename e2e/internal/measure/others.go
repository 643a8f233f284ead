package measure

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is what /proc/stat counts in: USER_HZ is 100 on all machines that Linux runs on.
const tick = 10 * time.Millisecond

// busy returns the processor time that all processes have used since the machine was started, with
// the time that its hypervisor gave to others. Where there is no /proc/stat it is 0.
func busy() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseBusy(string(b))
}

// parseBusy reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
// steal, and guests, which user and nice have in them (proc_stat(5)).
func parseBusy(stat string) time.Duration {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// Disturbed tells whether others used more than a tenth of a processor during the run. Two ticks
// more are what the clock can't tell.
func (r Run) Disturbed() bool { return r.Others > r.Wall/10+2*tick }

// Patience is the time that a comparison may spend on waiting for others to leave the machine
// alone. Nil is none.
type Patience struct{ Left time.Duration }

// pause is how long to wait before a disturbed run is repeated.
const pause = 2 * time.Second

// again tells whether there is time to repeat a run that was disturbed, and waits before that.
func (p *Patience) again(r Run) bool {
	if p == nil || p.Left < r.Wall+pause {
		return false
	}
	p.Left -= r.Wall + pause
	time.Sleep(pause)
	return true
}
