package main

import (
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

var checks = []check{
	{"sctp", traceSockets, []value{
		{"opened", 1},
		{"protocol", unix.IPPROTO_SCTP},
		{"result", 0},
		{"socket_type", 2}, // SCTP_SOCKET_TCP
		{"closed", 1},
		{"closed_protocol", unix.IPPROTO_SCTP},
		{"associations", 0},
	}},
	{"conntrack", runOnPacket, []value{{"before", -int32(unix.ENOENT)}, {"mark", 42}}},
	{"xfrm", runOnPacket, []value{{"if_id", 7}}},
	{"fou", runOnPacket, []value{{"sport", 1111}, {"dport", 2222}}},
	{"flowtable", runOnPacket, []value{{"error", -int32(unix.ENOENT)}}},
	{"congestion", connect, []value{
		{"threshold", 10}, // the initial window, because no packet was lost
		{"expand", 3},     // tcp_bbr's factor
	}},
	{"read", traceRead, []value{
		{"reads", 1},
		{"length", int32(len(wire.PlanFile) - 1)}, // without "/"
	}},
	{"task", traceRead, []value{{"found", int32(os.Getpid())}}},
	{"matrix", traceModule, []value{{"by", 7}, {"before", 0}, {"scaled", 42}}},
}

func traceSockets(p *ebpf.Collection) error {
	return whileAttached(p, func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
		if err != nil {
			return fmt.Errorf("opening an SCTP socket: %w", err)
		}
		return unix.Close(fd)
	})
}

// traceRead attaches the programs to functions of the kernel, and reads from a file once.
func traceRead(p *ebpf.Collection) error {
	return whileAttached(p, func() error {
		f, err := os.Open(wire.PlanFile)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		return err
	})
}

// traceModule attaches the programs to a function of the module in e2e/matrix, and makes the module
// call that function.
func traceModule(p *ebpf.Collection) error {
	return whileAttached(p, func() error {
		return os.WriteFile("/sys/module/matrix/parameters/touch", []byte("7"), 0)
	})
}

// whileAttached attaches the programs to the functions that they trace, calls the function do, and
// then detaches the programs.
func whileAttached(p *ebpf.Collection, do func() error) error {
	for name, prog := range p.Programs {
		l, err := link.AttachTracing(link.TracingOptions{Program: prog})
		if err != nil {
			return fmt.Errorf("attaching %s: %w", name, err)
		}
		defer l.Close()
	}
	return do()
}

// runOnPacket runs the only program on an empty packet. If the program fails, it returns the number
// of the step that failed; otherwise it returns 0.
func runOnPacket(p *ebpf.Collection) error {
	packet := make([]byte, 64)
	packet[12] = 0x08 // Ethernet with IPv4
	packet[14] = 0x45
	for name, prog := range p.Programs {
		code, err := prog.Run(&ebpf.RunOptions{Data: packet})
		if err != nil {
			return fmt.Errorf("running %s: %w", name, err)
		}
		if code != 0 {
			return fmt.Errorf("step %d of %s failed", code, name)
		}
	}
	return nil
}

// connect registers the congestion control and opens a connection that uses it.
func connect(p *ebpf.Collection) error {
	ops, err := link.AttachStructOps(link.StructOpsOptions{Map: p.Maps["congestion"]})
	if err != nil {
		return fmt.Errorf("registering the congestion control: %w", err)
	}
	defer ops.Close()
	if err := loopbackUp(); err != nil {
		return err
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer listener.Close()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			set = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, "checked")
		})
		if err == nil {
			err = set
		}
		return err
	}}
	conn, err := dialer.Dial("tcp4", listener.Addr().String())
	if err != nil {
		return err
	}
	return conn.Close()
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}
