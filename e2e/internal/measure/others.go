package measure

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is what /proc/stat counts in: USER_HZ is 100 on all machines that Linux runs on.
const tick = 10 * time.Millisecond

// busy returns the processor time that all processes have used since the machine was started, plus
// the time that its hypervisor gave to others. It returns 0 if /proc/stat cannot be read.
func busy() time.Duration {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	return parseBusy(string(b))
}

// parseBusy reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq,
// steal, and guests, which user and nice include (proc_stat(5)).
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

// Disturbed reports whether other processes used more than a tenth of a processor during the run.
// Two ticks are allowed for the resolution of the clock.
func (r Run) Disturbed() bool { return r.Others > r.Wall/10+2*tick }

// Patience is how much time a comparison may spend to repeat disturbed runs. Nil means no time.
type Patience struct{ Left time.Duration }

// pause is how long to wait before a disturbed run is repeated.
const pause = 2 * time.Second

// again reports whether there is time to repeat a disturbed run. If so it waits before it returns.
func (p *Patience) again(r Run) bool {
	if p == nil || p.Left < r.Wall+pause {
		return false
	}
	p.Left -= r.Wall + pause
	time.Sleep(pause)
	return true
}
