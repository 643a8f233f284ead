// Command probe runs in a virtual machine with the module of the test. It attaches a BPF program to
// each site that /sites.json lists, makes the module run, and prints what the programs have read
// from registers and memory, as a line of JSON for each site. With the argument "events NUMBER", it
// adds the kprobes in /events, runs the module, and prints what the kernel traces.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/rules-btf/rules_btf/e2e/inline/boot/protocol"
)

func main() {
	err := error(nil)
	if len(os.Args) == 3 && os.Args[1] == "events" {
		err = events(os.Args[2])
	} else {
		err = run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		os.Exit(1)
	}
}

const module = "/sys/module/sites/parameters/"

// events prints the module's parameter "pairs", then the kprobes that the kernel refuses, and then
// its trace.
func events(number string) error {
	const dir = "/trace"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tracefs", dir, "tracefs", 0, ""); err != nil {
		return fmt.Errorf("tracefs: %w", err)
	}
	pairs, err := os.ReadFile(module + "pairs")
	if err != nil {
		return err
	}
	fmt.Print(string(pairs))
	text, err := os.ReadFile(protocol.EventsFile)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		f, err := os.OpenFile(dir+"/dynamic_events", os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		if _, err := f.WriteString(line); err != nil {
			fmt.Printf("refused: %v: %s", err, line)
		}
		f.Close()
	}
	if err := os.WriteFile(dir+"/events/inline/enable", []byte("1"), 0); err != nil {
		return err
	}
	if err := os.WriteFile(module+"run", []byte(number), 0); err != nil {
		return err
	}
	trace, err := os.ReadFile(dir + "/trace")
	fmt.Print(string(trace))
	return err
}

func run() error {
	text, err := os.ReadFile(protocol.SitesFile)
	if err != nil {
		return err
	}
	var plan protocol.Plan
	if err := json.Unmarshal(text, &plan); err != nil {
		return err
	}
	probes := make([]*probe, len(plan.Sites))
	for i, s := range plan.Sites {
		probes[i] = &probe{site: s}
		probes[i].attach()
	}
	pairs, err := os.ReadFile(module + "pairs")
	if err != nil {
		return err
	}
	for _, x := range plan.Numbers {
		if err := os.WriteFile(module+"run", fmt.Append(nil, x), 0); err != nil {
			return err
		}
		for i, p := range probes {
			r := protocol.Result{Site: i, Number: x, Pairs: strings.TrimSpace(string(pairs))}
			if p.err == nil {
				p.err = p.values.Lookup(uint32(0), &r.Values)
			}
			if p.err != nil {
				r.Error = p.err.Error()
			}
			line, err := json.Marshal(r)
			if err != nil {
				return err
			}
			fmt.Println(string(line))
		}
	}
	return nil
}

// probe is the program at a site.
type probe struct {
	site   protocol.Site
	values *ebpf.Map // one element: a number of calls, and a word for each parameter
	err    error
}

func (p *probe) attach() {
	p.values, p.err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, MaxEntries: 1,
		ValueSize: 8 * protocol.Words})
	if p.err != nil {
		return
	}
	var program *ebpf.Program
	program, p.err = ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.Kprobe, License: "GPL",
		Instructions: p.instructions()})
	if p.err == nil {
		_, p.err = link.Kprobe(p.site.Symbol, program, &link.KprobeOptions{Offset: p.site.Offset})
	}
}

// instructions returns a program that stores the values of the parameters.
func (p *probe) instructions() asm.Instructions {
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.LoadMapPtr(asm.R1, p.values.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "exit"),
		asm.Mov.Reg(asm.R7, asm.R0),
		asm.LoadMem(asm.R1, asm.R7, 0, asm.DWord),
		asm.Add.Imm(asm.R1, 1),
		asm.StoreMem(asm.R7, 0, asm.R1, asm.DWord),
	}
	for i, l := range p.site.Locations {
		if !l.Known {
			continue
		}
		code = append(code,
			asm.LoadMem(asm.R3, asm.R6, l.Register, asm.DWord),
			asm.Add.Imm(asm.R3, l.Offset))
		if l.Size > 0 {
			code = append(code,
				asm.Mov.Imm(asm.R1, 0),
				asm.StoreMem(asm.RFP, -16, asm.R1, asm.DWord),
				asm.Mov.Reg(asm.R1, asm.RFP),
				asm.Add.Imm(asm.R1, -16),
				asm.Mov.Imm(asm.R2, l.Size),
				asm.FnProbeReadKernel.Call(),
				asm.LoadMem(asm.R3, asm.RFP, -16, asm.DWord))
		}
		code = append(code, asm.StoreMem(asm.R7, int16(8*(i+1)), asm.R3, asm.DWord))
	}
	return append(code,
		asm.Mov.Imm(asm.R0, 0).WithSymbol("exit"),
		asm.Return())
}
