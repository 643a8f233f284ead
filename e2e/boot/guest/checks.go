package main

import (
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/report"
)

// A check loads NAME.bpf.o, runs its programs and looks at its global variables.
type check struct {
	name string
	do   func(*program) error
}

var checks = []check{
	{"sctp", traceSockets},
	{"conntrack", runOnPacket("conntrack")},
	{"xfrm", runOnPacket("xfrm")},
	{"fou", runOnPacket("fou")},
	{"flowtable", runOnPacket("flowtable")},
}

// A program is a check in progress.
type program struct {
	*ebpf.Collection
	values []string
}

func (c check) run(dir string) report.Check {
	done := report.Check{Name: c.name}
	p := &program{}
	spec, err := ebpf.LoadCollectionSpec(filepath.Join(dir, c.name+".bpf.o"))
	if err == nil {
		p.Collection, err = ebpf.NewCollection(spec)
	}
	if err == nil {
		err = c.do(p)
		p.Close()
	}
	if err != nil {
		done.Error = fmt.Sprintf("%+v", err) // with all of the verifier's log
	}
	done.Values = p.values
	return done
}

// expect compares a global variable of 32 bits with what it should be.
func (p *program) expect(name string, want int32) error {
	v := p.Variables[name]
	if v == nil {
		return fmt.Errorf("the program has no variable %s", name)
	}
	var got int32
	if err := v.Get(&got); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.values = append(p.values, fmt.Sprintf("%s=%d", name, got))
	if got != want {
		return fmt.Errorf("%s is %d, not %d", name, got, want)
	}
	return nil
}

// traceSockets attaches to functions of sctp and opens and closes a socket.
func traceSockets(p *program) error {
	for _, prog := range p.Programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: prog})
		if err != nil {
			return fmt.Errorf("attaching %s: %w", prog, err)
		}
		defer l.Close()
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
	if err != nil {
		return fmt.Errorf("a socket of SCTP: %w", err)
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	for _, want := range []struct {
		name  string
		value int32
	}{
		{"opened", 1},
		{"protocol", unix.IPPROTO_SCTP},
		{"result", 0},
		{"socket_type", 2}, // SCTP_SOCKET_TCP,
		{"closed", 1},
		{"closed_protocol", unix.IPPROTO_SCTP},
		{"associations", 0},
	} {
		if err := p.expect(want.name, want.value); err != nil {
			return err
		}
	}
	return nil
}

// runOnPacket runs the program of that name over an empty packet. It should return 0; another
// number is the step that failed.
func runOnPacket(name string) func(*program) error {
	return func(p *program) error {
		prog := p.Programs[name]
		if prog == nil {
			return fmt.Errorf("there is no program %s", name)
		}
		packet := make([]byte, 64)
		packet[12] = 0x08 // Ethernet with IPv4
		packet[14] = 0x45
		code, err := prog.Run(&ebpf.RunOptions{Data: packet})
		if err != nil {
			return err
		}
		if code != 0 {
			return fmt.Errorf("step %d failed", code)
		}
		for variable, want := range expected[name] {
			if err := p.expect(variable, want); err != nil {
				return err
			}
		}
		return nil
	}
}

// expected has the values that programs leave in their variables.
var expected = map[string]map[string]int32{
	"conntrack": {"before": -int32(unix.ENOENT), "mark": 42},
	"xfrm":      {"if_id": 7},
	"fou":       {"sport": 1111, "dport": 2222},
	"flowtable": {"error": -int32(unix.ENOENT)},
}
