package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A machine is quiet if other processes and the hypervisor take at most quietPercent of its
// processors' time.
const quietPercent = 5

// load is the processor time that has been used up to some moment.
type load struct {
	at     time.Time
	busy   time.Duration // of all processors, for all processes and the kernel
	stolen time.Duration // by the hypervisor, for other machines
	own    time.Duration // for this process and its children
}

func now() load {
	l, err := parseLoad(orExit(os.ReadFile("/proc/stat")))
	if err != nil {
		log.Fatal(err)
	}
	l.at = time.Now()
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			log.Fatal(err)
		}
		l.own += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return l
}

// parseLoad parses the first line of /proc/stat, which counts ticks of 10 ms.
func parseLoad(stat []byte) (l load, err error) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 9 || fields[0] != "cpu" {
		return l, fmt.Errorf("/proc/stat: unknown format: %.80q", line)
	}
	for i, f := range fields[1:9] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return l, fmt.Errorf("/proc/stat: %w", err)
		}
		t := time.Duration(ticks) * time.Second / 100
		switch i {
		case 0, 1, 2, 5, 6: // user, nice, system, irq, softirq
			l.busy += t
		case 7:
			l.stolen += t
		}
	}
	return l, nil
}

// since describes whether the machine was quiet from the moment of before on.
func (l load) since(before load) string { return l.verdict(before, runtime.NumCPU()) }

func (l load) verdict(before load, processors int) string {
	all := max(l.at.Sub(before.at)*time.Duration(processors), 1)
	percent := func(d time.Duration) float64 { return 100 * float64(max(d, 0)) / float64(all) }
	others, stolen := percent(l.busy-before.busy-(l.own-before.own)), percent(l.stolen-before.stolen)
	text := fmt.Sprintf("other processes took %.1f%% of the processors' time, and the hypervisor "+
		"%.1f%%", others, stolen)
	if others+stolen > quietPercent {
		return "**The machine was not quiet**: " + text + "."
	}
	return "The machine was quiet: " + text + "."
}

// machine describes the machine, and how busy it is before the measurements.
func machine() {
	find := func(file, key string) string {
		for line := range strings.Lines(string(orExit(os.ReadFile(file)))) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == key {
				return strings.TrimSpace(value)
			}
		}
		return "unknown " + key
	}
	memory, _, _ := strings.Cut(find("/proc/meminfo", "MemTotal"), " ")
	kB, _ := strconv.ParseFloat(memory, 64)
	kernel := strings.TrimSpace(string(orExit(os.ReadFile("/proc/sys/kernel/osrelease"))))
	fmt.Printf("%s, %d processors, %.1f GB of memory, Linux %s, %s %s/%s\n\n",
		find("/proc/cpuinfo", "model name"), runtime.NumCPU(), kB*1024/1e9, kernel, runtime.Version(),
		runtime.GOOS, runtime.GOARCH)
	averages := strings.Fields(string(orExit(os.ReadFile("/proc/loadavg"))))
	before := now()
	time.Sleep(2 * time.Second)
	fmt.Printf("Before the measurements: load averages %s. In the last two seconds: %s\n",
		strings.Join(averages[:min(3, len(averages))], ", "), now().since(before))
}
