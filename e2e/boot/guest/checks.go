package main

import (
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf"

	"github.com/rules-btf/rules_btf/e2e/boot/wire"
)

// A check loads the BPF programs in NAME.bpf.o, makes them run, and compares their global variables
// with the wanted values.
type check struct {
	name string
	do   func(*ebpf.Collection) error
	want []value
}

type value struct {
	variable string
	value    int32
}

func (c check) run(dir string) wire.Check {
	values, err := c.try(dir)
	done := wire.Check{Name: c.name, Values: values}
	if err != nil {
		done.Error = fmt.Sprintf("%+v", err) // with the verifier's complete log
	}
	return done
}

// try runs the check. It returns, as text, the values of the variables that it compared.
func (c check) try(dir string) (values []string, err error) {
	p, err := ebpf.LoadCollection(filepath.Join(dir, c.name+".bpf.o"))
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if err := c.do(p); err != nil {
		return nil, err
	}
	for _, want := range c.want {
		v := p.Variables[want.variable]
		if v == nil {
			return values, fmt.Errorf("the programs have no variable %s", want.variable)
		}
		var got int32
		if err := v.Get(&got); err != nil {
			return values, fmt.Errorf("%s: %w", want.variable, err)
		}
		values = append(values, fmt.Sprintf("%s=%d", want.variable, got))
		if got != want.value && err == nil {
			err = fmt.Errorf("%s is %d, not %d", want.variable, got, want.value)
		}
	}
	return values, err
}
