package needs

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rules-btf/rules_btf/internal/programs/reach"
)

// truth returns the truth table of a condition with n guards. In an index of this table, each bit
// is the outcome of one guard.
func truth(c Condition, n int) string {
	table := make([]byte, 1<<n)
	for outcome := range table {
		table[outcome] = '0'
		if c.Holds(func(fact int) uint64 { return uint64(outcome >> fact & 1) }) {
			table[outcome] = '1'
		}
	}
	return string(table)
}

func literal(fact int, found bool) Literal { return Literal{Test: reach.Fact(fact), Found: found} }

// randomCondition returns a condition that may have duplicate literals, and cubes that contradict
// themselves.
func randomCondition(r *rand.Rand, n int) Condition {
	c := Condition{}
	for range r.IntN(2 * n) {
		cube := []Literal{}
		for range r.IntN(n + 1) {
			cube = append(cube, literal(r.IntN(n), r.IntN(2) == 0))
		}
		c = append(c, cube)
	}
	return c
}

// split returns an equivalent condition, in which some cubes are replaced by two: one for the case
// that a further guard has found something, and one for the case that it hasn't.
func split(r *rand.Rand, c Condition, n int) Condition {
	var out Condition
	for _, cube := range c {
		if r.IntN(2) == 0 {
			out = append(out, cube)
			continue
		}
		guard := r.IntN(n)
		for _, found := range []bool{true, false} {
			out = append(out, append(slices.Clone(cube), literal(guard, found)))
		}
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestNormal checks that the normal form of a condition holds for the same outcomes, that
// equivalent conditions have the same text, and that a condition that always holds is recognized.
func TestNormal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	texts := map[string]string{}
	for range 20000 {
		n := 1 + r.IntN(6)
		c := randomCondition(r, n)
		want := truth(c, n)
		for _, c := range []Condition{c, split(r, c, n)} {
			normal, always := c.normal()
			text := normal.String()
			if always {
				normal, text = Condition{{}}, "always"
			}
			if got := truth(normal, n); got != want {
				t.Fatalf("%v is %s, its normal form %s is %s", c, want, text, got)
			}
			if before, ok := texts[want]; ok && before != text {
				t.Fatalf("%v has the normal form %s, but an equivalent condition has %s", c, text, before)
			}
			texts[want] = text
			if always {
				continue
			}
			if again, err := parseCondition(text, n); err != nil || again.String() != text {
				t.Fatalf("%s is read as %v, %v", text, again, err)
			}
		}
	}
}

// TestNormalExamples has some readable conditions with their normal form.
func TestNormalExamples(t *testing.T) {
	yes, no := func(i int) Literal { return literal(i, true) },
		func(i int) Literal { return literal(i, false) }
	for _, c := range []struct {
		condition Condition
		want      string
	}{
		{Condition{}, "never"},
		{Condition{{yes(1)}}, "1"},
		{Condition{{yes(1), no(1)}}, "never"},
		{Condition{{yes(2), yes(1)}, {no(0)}}, "!0 | 1 2"},
		{Condition{{yes(0)}, {yes(0), yes(1)}}, "0"},
		{Condition{{yes(0)}, {no(0), yes(1)}}, "0 | 1"},
		{Condition{{yes(0)}, {no(0)}}, "always"},
		{Condition{{}}, "always"},
		{Condition{{yes(0), yes(1)}, {no(0), yes(2)}}, "!0 2 | 0 1 | 1 2"},
	} {
		normal, always := c.condition.normal()
		got := normal.String()
		if always {
			got = "always"
		}
		if got != c.want {
			t.Errorf("%v: %s, want %s", c.condition, got, c.want)
		}
	}
}

// TestLongCondition checks that a condition counts as always true if it has more than maxCubes
// cubes.
func TestLongCondition(t *testing.T) {
	var c Condition
	for i := range maxCubes + 1 {
		c = append(c, []Literal{literal(2*i, true), literal(2*i+1, true)})
	}
	if normal, always := c.normal(); !always {
		t.Errorf("%d cubes", len(normal))
	}
	if normal, always := c[:maxCubes].normal(); always || len(normal) != maxCubes {
		t.Errorf("%d cubes, always %t; want maxCubes cubes and false", len(normal), always)
	}
}

// TestHooks checks what a program needs from the kernel according to the name of its section (see
// section_defs in libbpf).
func TestHooks(t *testing.T) {
	for _, c := range []struct {
		section string
		want    Symbol
		inBTF   string // the name in BTF
	}{
		{"fentry/do_exit", Symbol{Kind: Function, Name: "do_exit"}, "do_exit"},
		{"fentry.s/do_exit", Symbol{Kind: Function, Name: "do_exit"}, "do_exit"},
		{"?fentry/do_exit", Symbol{Kind: Function, Name: "do_exit"}, "do_exit"},
		{"fentry/nf_nat:nf_nat_setup", Symbol{Kind: Function, Name: "nf_nat:nf_nat_setup"},
			"nf_nat_setup"},
		{"tp_btf/vmlinux:tick", Symbol{Kind: RawTP, Name: "vmlinux:tick"}, "btf_trace_tick"},
		{"fentry/one___two", Symbol{Kind: Function, Name: "one___two"}, "one___two"},
		{"fexit/do_exit", Symbol{Kind: Function, Name: "do_exit"}, "do_exit"},
		{"fmod_ret.s/f", Symbol{Kind: Function, Name: "f"}, "f"},
		{"fsession/f", Symbol{Kind: Function, Name: "f"}, "f"},
		{"lsm/file_open", Symbol{Kind: LSMHook, Name: "file_open"}, "bpf_lsm_file_open"},
		{"lsm.s/file_open", Symbol{Kind: LSMHook, Name: "file_open"}, "bpf_lsm_file_open"},
		{"lsm_cgroup/socket_bind", Symbol{Kind: LSMHook, Name: "socket_bind"}, "bpf_lsm_socket_bind"},
		{"tp_btf/sched_switch", Symbol{Kind: RawTP, Name: "sched_switch"}, "btf_trace_sched_switch"},
		{"iter/task", Symbol{Kind: Iterator, Name: "task"}, "bpf_iter_task"},
		{"iter.s/task", Symbol{Kind: Iterator, Name: "task"}, "bpf_iter_task"},
		{"kprobe/do_unlinkat", Symbol{Kind: Probe, Name: "do_unlinkat"}, ""},
		{"kprobe/do_unlinkat+0x10", Symbol{Kind: Probe, Name: "do_unlinkat"}, ""},
		{"kretprobe/do_unlinkat", Symbol{Kind: Probe, Name: "do_unlinkat"}, ""},
		{"tracepoint/sched/sched_switch", Symbol{Kind: Tracepoint, Name: "sched/sched_switch"}, ""},
		{"tp/sched/sched_switch", Symbol{Kind: Tracepoint, Name: "sched/sched_switch"}, ""},

		// These sections name nothing, or nothing certain, or something that isn't in the kernel.
		{section: "fentry"}, {section: "fentry/"}, {section: "lsm"}, {section: "kprobe"},
		{section: "kprobe/tcp_*"}, {section: "kprobe.multi/tcp_send"}, {section: "kprobe.session/f"},
		{section: "ksyscall/unlink"}, {section: "uprobe//bin/sh:main"}, {section: "usdt/libc:a:b"},
		{section: "freplace/f"}, {section: "raw_tp/sched_switch"}, {section: "raw_tp.w/x"},
		{section: "xdp"}, {section: "xdp/devmap"}, {section: "tc"}, {section: "tcx/ingress"},
		{section: "socket"}, {section: "cgroup/connect4"}, {section: "sk_skb/stream_parser"},
		{section: "struct_ops/init"}, {section: "syscall"}, {section: "perf_event"}, {section: ".text"},
	} {
		got, ok := hookOf(c.section)
		if got != c.want || ok != (c.want.Name != "") {
			t.Errorf("%s: %+v, %t, want %+v", c.section, got, ok, c.want)
		}
		if ok && got.Kind.InBTF() != (c.inBTF != "") || c.inBTF != "" && got.BTFName() != c.inBTF {
			t.Errorf("%s: BTF has %s, want %q", c.section, got.BTFName(), c.inBTF)
		}
	}
}
